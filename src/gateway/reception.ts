/**
 * What one attempt brings, until it is known whether its answer is the caller's, and on the way through from then on.
 * Nothing is handed on before the model has said something: until then the attempt can be replaced without a trace, and an
 * error inside a 200 can still become a status (casebook GW-04, GW-17).
 *
 *     head ≥ 400 ─────────► its body is read whole, then it has failed with it
 *     event stream ───────► held until first output (or the end), read on the side
 *     other body ─────────► held until it is whole or HELD_BYTES_MAX
 *     cannot be read ─────► nothing to wait for: the head is enough
 *
 * Bounded: what is held is at most HELD_BYTES_MAX; more means that it is delivered.
 */
import type { StreamFormat, UpstreamError } from "../stream/index.ts";
import type { AttemptSink, Fault } from "./attempt.ts";
import { type ResponseHead, responseHead } from "./headers.ts";
import { errorInJson, JsonObserver } from "./json-observer.ts";
import type { BodyObserver, Ending } from "./observer.ts";
import { StreamObserver } from "./stream-observer.ts";
import { incompleteError } from "./upstream-fault.ts";

export interface ReceptionEvents {
  sent(attempt: number, nowUs: number): void;
  /** A head that says yes. */
  head(attempt: number, status: number, nowUs: number): void;
  /** There is something to deliver. */
  content(attempt: number, nowUs: number): void;
  /** A read after that, or pings before. */
  read(attempt: number, nowUs: number, isProgress: boolean, isThinking: boolean): void;
  /** Bytes of the answer that is being delivered. */
  bytes(chunk: Buffer): void;
  complete(attempt: number, ending: Ending, last: Buffer | undefined, nowUs: number): void;
  refused(attempt: number, nowUs: number): void;
  errorInBand(attempt: number, error: UpstreamError, nowUs: number): void;
  fault(attempt: number, fault: Fault, nowUs: number): void;
}

export interface ReceptionOptions {
  readonly attempt: number;
  /** How its event stream is read; null if no decoder knows it. */
  readonly format: StreamFormat | null;
  readonly receivedUs: number;
  /** How long the caller has held the answer up so far, in µs: time that is not the upstream's. */
  readonly heldUs: () => number;
  readonly nowUs: () => number;
}

const HELD_BYTES_MAX = 256 * 1024;
const EMPTY = Buffer.alloc(0);

export class Reception implements AttemptSink {
  readonly #options: ReceptionOptions;
  readonly #events: ReceptionEvents;
  #rawHeaders: string[] = [];
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isDelivered = false;
  #observer: BodyObserver | undefined;
  status = 0;
  /** All of a refusal's body is here. */
  isWhole = false;
  head: ResponseHead | undefined;

  constructor(options: ReceptionOptions, events: ReceptionEvents) {
    this.#options = options;
    this.#events = events;
  }

  get stream(): StreamObserver | undefined {
    return this.#observer instanceof StreamObserver ? this.#observer : undefined;
  }

  /** As the upstream sent them, names and values in turn. */
  get rawHeaders(): readonly string[] {
    return this.#rawHeaders;
  }

  /** What has been held back, in order; from now on bytes go straight through. */
  deliver(): Buffer {
    this.#isDelivered = true;
    return this.takeHeld();
  }

  takeHeld(): Buffer {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held.length === 0 ? EMPTY : held.length === 1 ? held[0]! : Buffer.concat(held);
  }

  onSent(nowUs: number): void {
    this.#events.sent(this.#options.attempt, nowUs);
  }

  onHead(status: number, rawHeaders: string[], nowUs: number): void {
    const { attempt, format, receivedUs } = this.#options;
    this.status = status;
    this.#rawHeaders = rawHeaders;
    const head = responseHead(rawHeaders);
    this.head = head;
    if (status >= 400) return;
    this.#events.head(attempt, status, nowUs);
    if (head.isEventStream && !head.isEncoded && format !== null) {
      this.#observer = new StreamObserver(format, receivedUs);
    } else if (head.isJson && !head.isEncoded) {
      this.#observer = new JsonObserver(head.isUnsized);
    } else if (head.isEventStream) {
      // No decoder for it: it would be held for ever.
      this.#events.content(attempt, nowUs);
    }
  }

  onData(chunk: Buffer, nowUs: number): void {
    const { attempt } = this.#options;
    if (this.#isDelivered) {
      // Its time is read before it is written: a write may begin a time that does not count.
      const atUs = nowUs - this.#options.heldUs();
      this.#events.bytes(chunk);
      this.#observe(chunk, atUs, nowUs);
      return;
    }
    this.#hold(chunk);
    if (this.status >= 400) {
      if (this.#heldBytes > HELD_BYTES_MAX) this.#events.refused(attempt, nowUs);
      return;
    }
    const observer = this.#observe(chunk, nowUs - this.#options.heldUs(), nowUs);
    if (observer?.error !== undefined && !observer.hasContent) {
      this.#events.errorInBand(attempt, observer.error, nowUs);
    } else if (observer?.hasContent === true || this.#heldBytes > HELD_BYTES_MAX) {
      this.#events.content(attempt, nowUs);
    }
  }

  /** @returns the observer, if it is one of a stream. */
  #observe(chunk: Buffer, atUs: number, nowUs: number): StreamObserver | undefined {
    this.#observer?.push(chunk, atUs);
    const stream = this.stream;
    const isProgress = stream?.hasProgress ?? true;
    this.#events.read(this.#options.attempt, nowUs, isProgress, stream?.isThinking ?? false);
    return stream;
  }

  onEnd(last: Buffer | undefined, nowUs: number): void {
    const { attempt } = this.#options;
    if (this.status >= 400) {
      if (last !== undefined) this.#hold(last);
      this.isWhole = true;
      this.#events.refused(attempt, nowUs);
      return;
    }
    const atUs = nowUs - this.#options.heldUs();
    if (last !== undefined) this.#observer?.push(last, atUs);
    const ending = this.#observer?.end(atUs) ?? "unknown";
    if (ending === "incomplete") {
      if (last !== undefined) this.#pass(last);
      const error = incompleteError("an end of the connection before its time");
      this.#breakOff({ kind: "cut", error }, nowUs);
      return;
    }
    if (this.#isDelivered) {
      this.#events.complete(attempt, ending, last, nowUs);
      return;
    }
    if (last !== undefined) this.#hold(last);
    this.#endHeld(ending, nowUs);
  }

  /** Whole before anything of it was delivered. */
  #endHeld(ending: Ending, nowUs: number): void {
    const { attempt } = this.#options;
    const error = this.#errorAtEnd();
    if (error !== undefined) {
      this.#events.errorInBand(attempt, error, nowUs);
      return;
    }
    if (this.stream?.hasContent ?? true) this.#events.content(attempt, nowUs);
    this.#events.complete(attempt, ending, undefined, nowUs);
  }

  /** A whole answer that says in its body that it is none. */
  #errorAtEnd(): UpstreamError | undefined {
    const stream = this.stream;
    if (stream !== undefined) return stream.hasContent ? undefined : stream.error;
    if (this.head?.isJson !== true || this.head.isEncoded) return undefined;
    return errorInJson(this.#held);
  }

  onFault(fault: Fault): void {
    const { attempt, nowUs, heldUs } = this.#options;
    const ending = this.#observer?.end(nowUs() - heldUs()) ?? "unknown";
    // What is cut after it was whole, or after an error that the upstream told itself, lacks nothing.
    if (ending === "incomplete" || ending === "unknown") {
      this.#breakOff(fault, nowUs());
      return;
    }
    if (this.#isDelivered) this.#events.complete(attempt, ending, undefined, nowUs());
    else this.#endHeld(ending, nowUs());
  }

  /** What the model has said is the caller's, whether or not the break came in the same read. */
  #breakOff(fault: Fault, nowUs: number): void {
    const { attempt } = this.#options;
    if (!this.#isDelivered && this.stream?.hasContent === true)
      this.#events.content(attempt, nowUs);
    this.#events.fault(attempt, fault, nowUs);
  }

  #pass(chunk: Buffer): void {
    if (this.#isDelivered) this.#events.bytes(chunk);
    else this.#hold(chunk);
  }

  #hold(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
  }
}
