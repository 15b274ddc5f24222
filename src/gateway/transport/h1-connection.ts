/**
 * One HTTP/1.1 connection to the upstream: one socket, one undici client on it, one request at a time, never reconnected
 * behind our back. So it is always known whether a request rides on a new or on a warm connection, and whether a failure
 * may be the fault of reuse.
 *
 * Back-pressure is a valve on the socket's `read` and not undici's `pause()`: undici 7.30.2 throws an uncaught
 * AssertionError out of the socket's event handler if a paused response with `Connection: close` ends, by FIN or by RST,
 * so any upstream could end the process. With the valve shut, undici finds nothing to read, the stream's buffer fills to
 * its 64 KiB, and the kernel holds the rest back; an end stays behind the data it belongs to.
 */
import type { Socket } from "node:net";
import { Client } from "undici";
import type { BreakKind, Channel, ResponseSink, UpstreamRequest } from "./channel.ts";
import { type ConnectionMarks, reusedMarks } from "./connection-marks.ts";
import { H1Response, type H1ResponseFacts } from "./h1-response.ts";
import { HINT_MARGIN_US } from "./idle-limit.ts";

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
  readonly idleMs: number;
  readonly events: H1Events;
}

/** Idle is not counted down to zero by undici itself: a connection that it must keep for ever gets a year. */
const FOREVER_MS = 365 * 24 * 3_600 * 1_000;

export class H1Connection implements Channel, H1ResponseFacts {
  readonly #options: H1Options;
  readonly #client: Client;
  readonly #socket: Socket;
  #closed = false;
  /** undici takes that for the end of a body that has no length; it is none. */
  hasBroken = false;
  /** By undici's own idle limit, which is ours. */
  #hasExpired = false;
  /** Of the request on it. */
  marks: ConnectionMarks;
  /** A request was on it before the present one, or it was kept without one. */
  isKept = false;
  idleSinceUs = 0;

  constructor(options: H1Options) {
    this.#options = options;
    this.marks = options.marks;
    const { origin, socket, idleMs } = options;
    this.#socket = socket;
    socket.once("close", () => this.#close(undefined, !this.#hasExpired));
    // Ahead of undici's own listener, which may report the end of the response.
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      this.hasBroken = true;
      this.#hasExpired = code === "UND_ERR_INFO";
    });
    // Before the first request nothing reads the socket: whatever comes, an end or bytes unasked for, makes it useless.
    socket.on("readable", this.#onUnasked);
    let handedOver = false;
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        if (handedOver) {
          callback(new Error("the connection is used up"), null);
          return;
        }
        handedOver = true;
        socket.off("readable", this.#onUnasked);
        // Called from within undici's own loop, which must be left first.
        queueMicrotask(() => callback(null, socket));
      },
      pipelining: 1,
      keepAliveTimeout: idleMs === 0 ? FOREVER_MS : idleMs,
      keepAliveMaxTimeout: idleMs === 0 ? FOREVER_MS : idleMs,
      keepAliveTimeoutThreshold: HINT_MARGIN_US / 1_000,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  get isOpen(): boolean {
    return !this.#closed && !this.#socket.destroyed;
  }

  readonly #onUnasked = (): void => this.#close(undefined, true);

  /** The next request finds it open. */
  keep(nowUs: number): void {
    this.isKept = true;
    this.idleSinceUs = nowUs;
  }

  /** For the request that comes now. */
  begin(): void {
    this.marks = this.isKept ? reusedMarks(this.#options.marks) : this.#options.marks;
  }

  send({ method, path, headers, body }: UpstreamRequest, sink: ResponseSink): void {
    this.#client.dispatch({ method, path, headers, body }, new H1Response(sink, this));
  }

  onHint(header: string): void {
    this.#options.events.onHint(header);
  }

  kindOf(cause: Error): BreakKind {
    if (!isSocketFault(cause)) return "garbage";
    return this.isKept ? "reuse_race" : "cut";
  }

  /** Stops reading within 64 KiB. */
  shutValve(): void {
    this.#socket.read = () => null;
  }

  openValve(): void {
    const socket = this.#socket;
    if (!Object.hasOwn(socket, "read")) return;
    // Uncovers the stream's own method.
    Reflect.deleteProperty(socket, "read");
    // Deferred, since undici's parser, which may be what called us, must not be entered twice.
    queueMicrotask(() => socket.emit("readable"));
  }

  release(): void {
    this.openValve();
    if (this.isOpen) this.#options.events.onIdle(this);
    else this.cancel();
  }

  /** Closes it; a request on it ends with `reason`. */
  cancel(reason?: Error): void {
    this.#close(reason, false);
  }

  #close(reason: Error | undefined, byPeer: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#client.destroy(reason ?? null, () => undefined);
    this.#socket.destroy();
    this.#options.events.onClosed(this, byPeer);
  }
}

const SOCKET_FAULTS = new Set(["UND_ERR_SOCKET", "UND_ERR_CLOSED", "ECONNRESET", "EPIPE"]);

function isSocketFault(cause: Error): boolean {
  return SOCKET_FAULTS.has((cause as NodeJS.ErrnoException).code ?? "");
}
