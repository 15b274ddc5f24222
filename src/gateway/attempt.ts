/**
 * One try of a call against one upstream: takes a connection, sends the request, hands on what comes back. It has no limit
 * of its own and decides nothing: how long it may take is the call's business (`policy/call`), which cancels it. Ends in
 * exactly one of `onEnd` and `onFault`, or silently after `cancel`.
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../clock/index.ts";
import { ManxError, toManxError } from "../core/index.ts";
import type { FailureKind } from "../policy/index.ts";
import type { Connection } from "./connection.ts";
import { causeName, downError, exhaustedError, incompleteError } from "./upstream-fault.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: string[];
  /** Whole, so that it can be sent again. */
  readonly body: Buffer | null;
}

export interface Fault {
  readonly kind: FailureKind;
  readonly error: ManxError;
}

/** What came in one read of the socket is handed on in one turn, so that the client gets it in one write. */
export interface AttemptSink {
  /** The request is on its way, on an open connection. */
  onSent(nowUs: number): void;
  /** The final head; 1xx are swallowed. @param rawHeaders names and values in turn. */
  onHead(status: number, rawHeaders: string[], nowUs: number): void;
  onData(bytes: Buffer, nowUs: number): void;
  /** @param last what came in the same read as the end. */
  onEnd(last: Buffer | undefined, nowUs: number): void;
  onFault(fault: Fault): void;
}

export class Attempt implements Dispatcher.DispatchHandler {
  readonly #pool: UpstreamPool;
  readonly #clock: Clock;
  readonly #request: UpstreamRequest;
  readonly #sink: AttemptSink;
  #connection: Connection | undefined;
  #hasHead = false;
  #done = false;
  /** Of the read that undici is working on. */
  #newHead: { status: number; rawHeaders: string[] } | undefined;
  #newBytes: Buffer[] = [];
  #readUs = 0;
  /** Whether the connection was open before the request came. */
  isWarm = false;
  dispatchedUs = 0;

  constructor(
    upstream: { pool: UpstreamPool; clock: Clock },
    request: UpstreamRequest,
    sink: AttemptSink,
  ) {
    this.#pool = upstream.pool;
    this.#clock = upstream.clock;
    this.#request = request;
    this.#sink = sink;
  }

  /** @param fresh no connection that was kept: where one has just been found dead, others may be. */
  start({ fresh }: { fresh: boolean }): void {
    const connection = fresh ? this.#pool.takeFresh() : this.#pool.take();
    if (connection === undefined) {
      this.#fail({
        kind: "local",
        error: new ManxError("MANX_OVERLOADED", {
          expected: `at most ${this.#pool.connectionsMax} requests at a time`,
        }),
      });
      return;
    }
    this.#connection = connection;
    this.isWarm = connection.isOpen;
    if (this.isWarm) {
      this.#send(connection);
      return;
    }
    this.#pool.connect(connection, (error) => {
      if (this.#done) return;
      if (error === null) this.#send(connection);
      else this.#failDown(error);
    });
  }

  /** Gives up at once, in any phase: the upstream's socket is closed, nothing more is called. */
  cancel(): void {
    if (this.#done) return;
    this.#finish();
    this.#connection?.close();
  }

  /** The client does not read: no more from the upstream. */
  pause(): void {
    if (this.#done) return;
    this.#connection?.shutValve();
  }

  resume(): void {
    if (this.#done) return;
    this.#connection?.openValve();
  }

  #send(connection: Connection): void {
    this.dispatchedUs = this.#clock.nowUs();
    this.#sink.onSent(this.dispatchedUs);
    if (this.#done) return;
    const { method, path, headers, body } = this.#request;
    connection.dispatch({ method, path, headers, body }, this);
  }

  /** Its presence tells undici which of its two handler forms this is. */
  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#done || status < 200) return;
    this.#reads();
    this.#hasHead = true;
    this.#newHead = { status, rawHeaders: decodeHeaders(controller.rawHeaders as Buffer[]) };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done || chunk.length === 0) return;
    this.#reads();
    this.#newBytes.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#done) return;
    if (this.#connection?.hasBroken === true) {
      this.#failEarly("ECONNRESET");
      return;
    }
    this.#reads();
    this.#hand(() => {
      this.#handHead();
      const last = this.#takeBytes();
      // The head may have made the client leave.
      if (this.#done) return;
      this.#finish();
      const connection = this.#connection!;
      connection.openValve();
      this.#pool.giveBack(connection);
      this.#sink.onEnd(last, this.#readUs);
    });
  }

  /** undici calls once per chunk of the body, within one turn for all that one read brought. */
  #reads(): void {
    if (this.#newHead !== undefined || this.#newBytes.length > 0) return;
    this.#readUs = this.#clock.nowUs();
    queueMicrotask(this.#handOn);
  }

  readonly #handOn = (): void => {
    if (this.#done) return;
    this.#hand(() => {
      this.#handHead();
      const bytes = this.#takeBytes();
      if (bytes !== undefined && !this.#done) this.#sink.onData(bytes, this.#readUs);
    });
  };

  /** Whatever goes wrong in here (Node refuses a header, say) ends this call and not the process. */
  #hand(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.#fail({ kind: "local", error: toManxError(thrown) });
    }
  }

  #handHead(): void {
    const head = this.#newHead;
    if (head === undefined) return;
    this.#newHead = undefined;
    this.#sink.onHead(head.status, head.rawHeaders, this.#readUs);
  }

  #takeBytes(): Buffer | undefined {
    const parts = this.#newBytes;
    if (parts.length === 0) return undefined;
    this.#newBytes = [];
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.#hasHead) this.#failEarly(causeName(cause));
    else this.#failDown(cause);
  }

  #failEarly(got: string): void {
    // What came before the error came well.
    this.#handOn();
    if (this.#done) return;
    const error = incompleteError(got);
    this.#fail({ kind: "cut", error });
  }

  #failDown(cause: Error): void {
    const kind = this.#kindOf(cause);
    const error =
      kind === "local" ? exhaustedError(cause) : downError(cause, this.#pool.origin.origin);
    this.#fail({ kind, error });
  }

  /** Before a head came. */
  #kindOf(cause: Error): FailureKind {
    if (this.dispatchedUs === 0) return isLocalFault(cause) ? "local" : "connect";
    if (!isSocketFault(cause)) return "garbage";
    return this.isWarm ? "reuse_race" : "cut";
  }

  #fail(fault: Fault): void {
    this.#finish();
    this.#connection?.close();
    this.#sink.onFault(fault);
  }

  #finish(): void {
    this.#done = true;
  }
}

function decodeHeaders(raw: readonly Buffer[]): string[] {
  return raw.map((part) => part.toString("latin1"));
}

const SOCKET_FAULTS = new Set(["UND_ERR_SOCKET", "UND_ERR_CLOSED", "ECONNRESET", "EPIPE"]);

function isSocketFault(cause: Error): boolean {
  return SOCKET_FAULTS.has((cause as NodeJS.ErrnoException).code ?? "");
}

/** This machine has no socket or memory left: no other target would help, and none is to blame. */
const LOCAL_FAULTS = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

function isLocalFault(cause: Error): boolean {
  return LOCAL_FAULTS.has((cause as NodeJS.ErrnoException).code ?? "");
}
