/**
 * One try of a call against one upstream: takes a connection, sends the request, hands on what comes back. It has no limit
 * of its own and decides nothing: how long it may take is the call's business (`policy/call`), which cancels it. Ends in
 * exactly one of `onEnd` and `onFault`, or silently after `cancel`.
 */
import type { Clock } from "../clock/index.ts";
import { isManxError, ManxError, toManxError } from "../core/index.ts";
import { type FailureKind, incompleteError } from "../policy/index.ts";
import type { Berth } from "./transport/berth.ts";
import type { BreakKind, ResponseSink, UpstreamRequest } from "./transport/channel.ts";
import type { ConnectionMarks } from "./transport/connection-marks.ts";
import { causeName, downError, exhaustedError } from "./upstream-fault.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

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

export class Attempt implements ResponseSink {
  readonly #pool: UpstreamPool;
  readonly #clock: Clock;
  readonly #request: UpstreamRequest;
  readonly #sink: AttemptSink;
  #berth: Berth | undefined;
  #hasHead = false;
  #done = false;
  /** Of the read that is being worked on. */
  #newHead: { status: number; rawHeaders: string[] } | undefined;
  #newBytes: Buffer[] = [];
  #readUs = 0;
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

  /** Whether the connection was open before the request came. */
  get isWarm(): boolean {
    return this.#berth?.isWarm ?? false;
  }

  /** How it came by its connection; undefined if it has none yet. Stays when it has ended. */
  get marks(): ConnectionMarks | undefined {
    return this.#berth?.marks;
  }

  /** @param options.fresh no connection that was kept: where one has just been found dead, others may be. */
  start(options: { fresh: boolean }): void {
    const berth = this.#pool.take(options);
    if (berth === undefined) {
      this.#failLocal(
        new ManxError("MANX_OVERLOADED", {
          expected: `at most ${this.#pool.connectionsMax} requests at a time`,
        }),
      );
      return;
    }
    this.#berth = berth;
    berth.open((error) => {
      if (this.#done) return;
      if (error === null) this.#send(berth);
      else this.#failUnsent(error);
    });
  }

  /** Gives up at once, in any phase: the upstream is told, nothing more is called. */
  cancel(): void {
    if (this.#done) return;
    this.#finish();
    this.#berth?.cancel();
  }

  /** The client does not read: no more from the upstream. */
  pause(): void {
    if (this.#done) return;
    this.#berth?.shutValve();
  }

  resume(): void {
    if (this.#done) return;
    this.#berth?.openValve();
  }

  #send(berth: Berth): void {
    this.dispatchedUs = this.#clock.nowUs();
    this.#sink.onSent(this.dispatchedUs);
    if (!this.#done) berth.send(this.#request, this);
  }

  head(status: number, rawHeaders: string[]): void {
    if (this.#done) return;
    this.#reads();
    this.#hasHead = true;
    this.#newHead = { status, rawHeaders };
  }

  bytes(chunk: Buffer): void {
    if (this.#done) return;
    this.#reads();
    this.#newBytes.push(chunk);
  }

  end(): void {
    if (this.#done) return;
    this.#reads();
    try {
      this.#handHead();
      const last = this.#takeBytes();
      // The head may have made the client leave.
      if (this.#done) return;
      this.#finish();
      this.#berth!.release();
      this.#sink.onEnd(last, this.#readUs);
    } catch (thrown) {
      this.#failLocal(toManxError(thrown));
    }
  }

  /** Called once per chunk of the body, within one turn for all that one read brought. */
  #reads(): void {
    if (this.#newHead !== undefined || this.#newBytes.length > 0) return;
    this.#readUs = this.#clock.nowUs();
    queueMicrotask(this.#handOn);
  }

  readonly #handOn = (): void => {
    if (this.#done) return;
    // Whatever goes wrong in here (Node refuses a header, say) ends this call and not the process.
    try {
      this.#handHead();
      const bytes = this.#takeBytes();
      if (bytes !== undefined && !this.#done) this.#sink.onData(bytes, this.#readUs);
    } catch (thrown) {
      this.#failLocal(toManxError(thrown));
    }
  };

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

  broken(kind: BreakKind, cause: Error): void {
    if (this.#done) return;
    if (kind === "local") this.#failLocal(toManxError(cause));
    else if (this.#hasHead) this.#failEarly(causeName(cause));
    else this.#failDown(this.#kindOf(kind), cause);
  }

  /** Before a head came. What was surely not begun is no more than a connection that was not there. */
  #kindOf(kind: Exclude<BreakKind, "local">): FailureKind {
    if (kind === "reuse_race") this.#berth?.raced();
    if (kind !== "unprocessed") return kind;
    return this.isWarm ? "reuse_race" : "connect";
  }

  #failEarly(got: string): void {
    // What came before the error came well.
    this.#handOn();
    if (this.#done) return;
    const error = incompleteError(got);
    this.#fail({ kind: "cut", error });
  }

  #failUnsent(cause: Error): void {
    if (isManxError(cause)) this.#failLocal(cause);
    else if (isLocalFault(cause)) this.#failLocal(exhaustedError(cause));
    else this.#failDown("connect", cause);
  }

  #failDown(kind: FailureKind, cause: Error): void {
    this.#fail({ kind, error: downError(cause, this.#pool.origin.origin) });
  }

  #failLocal(error: ManxError): void {
    this.#fail({ kind: "local", error });
  }

  #fail(fault: Fault): void {
    this.#finish();
    this.#berth?.cancel();
    this.#sink.onFault(fault);
  }

  #finish(): void {
    this.#done = true;
  }
}

/** This machine has no socket or memory left: no other target would help, and none is to blame. */
const LOCAL_FAULTS = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

function isLocalFault(cause: Error): boolean {
  return LOCAL_FAULTS.has((cause as NodeJS.ErrnoException).code ?? "");
}
