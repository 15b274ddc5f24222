/**
 * One HTTP/1.1 connection to the upstream: one socket, one request at a time, never reconnected behind our back. So it is
 * always known whether a request rides on a new or on a warm connection, and whether a failure may be the fault of reuse.
 *
 *     idle ──send──► due ──turn over──► answering ──whole──► idle
 *       └───────────────┴───────────────────┴──► closed
 *
 * Invariant: what comes while nothing is asked for, whether an end or bytes, closes the connection. Bytes that were there
 * before the request are never taken for its answer, which would be somebody else's: hence `due`.
 */
import type { Socket } from "node:net";
import type { Cancel, Clock } from "../../clock/index.ts";
import type { BreakKind, Channel, ResponseSink, UpstreamRequest } from "./channel.ts";
import { type ConnectionMarks, reusedMarks } from "./connection-marks.ts";
import { H1Parser, type H1ResponseEvents } from "./h1-parser.ts";
import { requestHead } from "./h1-request.ts";

export interface H1Events {
  /** The request on it has ended well, and it may carry another. */
  onIdle(connection: H1Connection): void;
  /** Value of the upstream's `Keep-Alive`. */
  onHint(header: string): void;
  /** Called once. @param byPeer nobody here has closed it. */
  onClosed(connection: H1Connection, byPeer: boolean): void;
}

export interface H1Options {
  readonly origin: URL;
  readonly socket: Socket;
  readonly marks: ConnectionMarks;
  readonly clock: Clock;
  readonly events: H1Events;
}

/** Up to here, copying a body behind its head costs less than a write of two parts. */
const JOINED_BYTES_MAX = 16 * 1024;
const CLOSED = "closed by the upstream";

export class H1Connection implements Channel, H1ResponseEvents {
  readonly #options: H1Options;
  readonly #socket: Socket;
  readonly #reused: ConnectionMarks;
  readonly #parser = new H1Parser(this);
  /** Of the request on it. */
  #sink: ResponseSink | undefined;
  #cancelTurn: Cancel | undefined;
  #isAnswering = false;
  /** A byte of the answer has come. */
  #isHeard = false;
  /** Nothing speaks against another request. */
  #mayGoOn = true;
  #isShut = false;
  #isClosed = false;
  /** Of the request on it. */
  marks: ConnectionMarks;
  /** A request was on it before the present one, or it was kept without one. */
  isKept = false;
  idleSinceUs = 0;

  constructor(options: H1Options) {
    const { socket, marks } = options;
    this.#options = options;
    this.#socket = socket;
    this.marks = marks;
    this.#reused = reusedMarks(marks);
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.once("end", () => this.#onFinished());
    // Stays, since an error that nobody hears would end the process.
    socket.on("error", (cause) => this.#breakOff(cause));
    socket.once("close", () => this.#breakOff(new Error(CLOSED)));
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#socket.destroyed;
  }

  /** The next request finds it open. */
  keep(nowUs: number): void {
    this.isKept = true;
    this.idleSinceUs = nowUs;
  }

  /** For the request that comes now. */
  begin(): void {
    this.marks = this.isKept ? this.#reused : this.#options.marks;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const { origin, clock } = this.#options;
    this.#sink = sink;
    this.#mayGoOn = false;
    this.#isHeard = false;
    let head: string;
    try {
      head = requestHead(request, origin.host);
    } catch (thrown) {
      this.#break("local", thrown as Error, false);
      return;
    }
    if (!this.isKept) {
      this.#write(head, request.body);
      return;
    }
    // What has come unasked, or an end, is read from the kernel in the turn that runs; then, and only then, it is our turn.
    this.#cancelTurn = clock.at(clock.nowUs(), () => this.#write(head, request.body));
  }

  #write(head: string, body: Buffer | null): void {
    const socket = this.#socket;
    this.#cancelTurn = undefined;
    this.#isAnswering = true;
    this.#parser.begin();
    if (body === null || body.length === 0) {
      socket.write(head, "latin1");
    } else if (head.length + body.length <= JOINED_BYTES_MAX) {
      const whole = Buffer.allocUnsafe(head.length + body.length);
      whole.write(head, "latin1");
      whole.set(body, head.length);
      socket.write(whole);
    } else {
      socket.cork();
      socket.write(head, "latin1");
      socket.write(body);
      socket.uncork();
    }
  }

  #onData(chunk: Buffer): void {
    if (!this.#isAnswering) {
      this.#breakOff(new Error("the upstream spoke unasked"));
      return;
    }
    this.#isHeard = true;
    const wrong = this.#parser.feed(chunk);
    if (wrong !== undefined) this.#break("garbage", new Error(wrong), true);
  }

  onHead(status: number, rawHeaders: string[]): void {
    const hint = this.#parser.keepAlive;
    if (hint !== undefined) this.#options.events.onHint(hint);
    this.#sink?.head(status, rawHeaders);
  }

  onBytes(chunk: Buffer): void {
    this.#sink?.bytes(chunk);
  }

  onEnd(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#isAnswering = false;
    // An upstream that answers before it has the whole request does not want the rest.
    this.#mayGoOn = this.#parser.keepsAlive && this.#socket.writableLength === 0;
    sink?.end();
  }

  #onFinished(): void {
    if (!this.#parser.finish()) this.#breakOff(new Error(CLOSED));
  }

  /** The upstream, or the way to it, has ended the connection. */
  #breakOff(cause: Error): void {
    this.#break(this.isKept && !this.#isHeard ? "reuse_race" : "cut", cause, true);
  }

  #break(kind: BreakKind, cause: Error, byPeer: boolean): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#close(byPeer);
    sink?.broken(kind, cause);
  }

  /** Stops reading within 64 KiB; an end stays behind the data that it belongs to. */
  shutValve(): void {
    this.#isShut = true;
    this.#socket.pause();
  }

  openValve(): void {
    if (!this.#isShut) return;
    this.#isShut = false;
    this.#socket.resume();
  }

  release(): void {
    this.openValve();
    if (this.isOpen && this.#mayGoOn) this.#options.events.onIdle(this);
    else this.cancel();
  }

  cancel(): void {
    this.#sink = undefined;
    this.#close(false);
  }

  /** A request on it breaks. */
  close(): void {
    this.#break("cut", new Error("the connection was given up"), false);
  }

  #close(byPeer: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isAnswering = false;
    this.#cancelTurn?.();
    this.#socket.destroy();
    this.#options.events.onClosed(this, byPeer);
  }
}
