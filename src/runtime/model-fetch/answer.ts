/**
 * What one attempt brings. Nothing of it is handed on before the model has said something: until then the attempt can be
 * replaced without a trace, and an error inside a 200 can still become a status.
 *
 *     head ≥ 400 ─────────► its body is read whole, then it has failed with it
 *     event stream ───────► held until first output (or the end), read on the side
 *     other body ─────────► held until it is whole or HELD_BYTES_MAX
 *
 * Bounded: what is held is at most HELD_BYTES_MAX and one read; more means that it is delivered.
 */
import type { ManxError } from "../../core/index.ts";
import { incompleteError } from "../../policy/index.ts";
import {
  type CountedTokens,
  type Ending,
  errorInJson,
  isCutShort,
  joinedBytes,
  StreamObserver,
  type UpstreamError,
  usageInJson,
} from "../../stream/index.ts";
import type { AttemptSink } from "./fetch-attempt.ts";
import { type Fault, garbageFault } from "./fetch-fault.ts";
import type { ModelRequest } from "./model-request.ts";

export interface AnswerEvents {
  sent(attempt: number, nowUs: number): void;
  /** @param response whose status says yes. */
  head(attempt: number, response: Response, nowUs: number): void;
  /** There is something to deliver. */
  content(attempt: number, nowUs: number): void;
  read(attempt: number, nowUs: number): void;
  /** Of the answer that is being delivered. */
  bytes(chunk: Uint8Array): void;
  complete(attempt: number, ending: Ending, nowUs: number): void;
  refused(attempt: number, nowUs: number): void;
  errorInBand(attempt: number, error: UpstreamError, nowUs: number): void;
  fault(attempt: number, fault: Fault, nowUs: number): void;
}

export interface AnswerOptions {
  readonly attempt: number;
  readonly request: ModelRequest;
  readonly origin: string;
  readonly receivedUs: number;
  /** How long the caller has held the answer up so far, in µs: time that is not the upstream's. */
  readonly heldUs: () => number;
}

const HELD_BYTES_MAX = 256 * 1024;

export class Answer implements AttemptSink {
  readonly #options: AnswerOptions;
  readonly #events: AnswerEvents;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isDelivered = false;
  #isJson = false;
  #jsonUsage: CountedTokens | undefined;
  response: Response | undefined;
  stream: StreamObserver | undefined;
  /** All of a refusal's body is here. */
  isWhole = false;

  constructor(options: AnswerOptions, events: AnswerEvents) {
    this.#options = options;
    this.#events = events;
  }

  get status(): number {
    return this.response?.status ?? 0;
  }

  get isEventStream(): boolean {
    return this.stream !== undefined;
  }

  /** As the upstream has counted; undefined if it has not said. */
  get usage(): Partial<CountedTokens> | undefined {
    if (this.stream === undefined) return this.#jsonUsage;
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = this.stream.usage;
    if (inputTokens === null) return undefined;
    // Anthropic counts what came from its cache, or went there, beside the prompt.
    const isBeside = this.#options.request.wire.format === "anthropic-messages";
    const beside = isBeside ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
    return {
      inputTokens: inputTokens + beside,
      ...(outputTokens !== null && { outputTokens }),
      ...(cacheReadTokens !== null && { cachedTokens: cacheReadTokens }),
      ...(cacheWriteTokens !== null && { writtenTokens: cacheWriteTokens }),
    };
  }

  /** What has been held back, in order; from now on bytes go straight through. */
  deliver(): readonly Uint8Array[] {
    this.#isDelivered = true;
    return this.takeHeld();
  }

  takeHeld(): readonly Uint8Array[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  onSent(nowUs: number): void {
    this.#events.sent(this.#options.attempt, nowUs);
  }

  onHead(response: Response, nowUs: number): void {
    const { attempt, request, receivedUs, origin } = this.#options;
    this.response = response;
    if (response.status >= 400) return;
    const type = (response.headers.get("content-type") ?? "").toLowerCase();
    const { format } = request.wire;
    this.#isJson = type.startsWith("application/json");
    // A proxy's or a portal's page, with a 200: no model speaks HTML.
    if (format !== null && type.startsWith("text/html")) {
      this.#events.fault(attempt, garbageFault("an HTML page", origin), nowUs);
      return;
    }
    this.#events.head(attempt, response, nowUs);
    const isEvents = type.startsWith("text/event-stream");
    const isList = format === "gemini" && request.isStream && this.#isJson;
    if (format !== null && (isEvents || isList))
      this.stream = new StreamObserver(format, receivedUs);
    // No decoder for it: it would be held for ever.
    else if (isEvents) this.#events.content(attempt, nowUs);
  }

  onData(chunk: Uint8Array, nowUs: number): void {
    const { attempt } = this.#options;
    if (this.#isDelivered) {
      this.#events.bytes(chunk);
      this.#observe(chunk, nowUs);
      return;
    }
    this.#hold(chunk);
    const isTooMuch = this.#heldBytes > HELD_BYTES_MAX;
    if (this.status >= 400) {
      if (isTooMuch) this.#events.refused(attempt, nowUs);
      return;
    }
    this.#observe(chunk, nowUs);
    const { stream } = this;
    if (stream?.error !== undefined && !stream.hasContent) {
      this.#events.errorInBand(attempt, stream.error, nowUs);
    } else if (stream?.hasContent === true || isTooMuch) this.#events.content(attempt, nowUs);
  }

  #observe(chunk: Uint8Array, nowUs: number): void {
    this.stream?.push(chunk, nowUs - this.#options.heldUs());
    this.#events.read(this.#options.attempt, nowUs);
  }

  onEnd(nowUs: number): void {
    const { attempt } = this.#options;
    if (this.status >= 400) {
      this.isWhole = true;
      this.#events.refused(attempt, nowUs);
      return;
    }
    const ending = this.stream?.end(nowUs - this.#options.heldUs()) ?? "unknown";
    if (ending === "incomplete") {
      this.#breakOff(cut("an end of the connection before its time"), nowUs);
    } else if (this.#isDelivered) this.#events.complete(attempt, ending, nowUs);
    else this.#endHeld(ending, nowUs);
  }

  /** Whole before anything of it was delivered. */
  #endHeld(ending: Ending, nowUs: number): void {
    const { attempt } = this.#options;
    const { stream } = this;
    const error = stream === undefined ? this.#errorInJson() : stream.error;
    if (error !== undefined && stream?.hasContent !== true) {
      this.#events.errorInBand(attempt, error, nowUs);
      return;
    }
    if (stream === undefined && this.#isJson) {
      const body = joinedBytes(this.#held, this.#heldBytes);
      if (isCutShort(body)) {
        this.#events.fault(attempt, cut("JSON that stops before its end"), nowUs);
        return;
      }
      this.#jsonUsage = usageInJson(body);
      this.#held = [body];
    }
    if (stream?.hasContent ?? true) this.#events.content(attempt, nowUs);
    this.#events.complete(attempt, ending, nowUs);
  }

  #errorInJson(): UpstreamError | undefined {
    return this.#isJson ? errorInJson(this.#held) : undefined;
  }

  onFault(fault: Fault, nowUs: number): void {
    const { attempt } = this.#options;
    const ending = this.stream?.end(nowUs - this.#options.heldUs()) ?? "unknown";
    // What is cut after it was whole, or after an error that the upstream told itself, lacks nothing.
    if (ending === "incomplete" || ending === "unknown") this.#breakOff(fault, nowUs);
    else if (this.#isDelivered) this.#events.complete(attempt, ending, nowUs);
    else this.#endHeld(ending, nowUs);
  }

  /** What the model has said is the caller's, whether or not the break came in the same read. */
  #breakOff(fault: Fault, nowUs: number): void {
    const { attempt } = this.#options;
    if (!this.#isDelivered && this.stream?.hasContent === true) {
      this.#events.content(attempt, nowUs);
    }
    this.#events.fault(attempt, fault, nowUs);
  }

  #hold(chunk: Uint8Array): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
  }
}

function cut(got: string): Fault {
  return { kind: "cut", error: incompleteError(got) as ManxError };
}
