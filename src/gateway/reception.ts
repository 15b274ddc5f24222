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
 * Where caller and upstream speak different formats, what goes on is the translation; else the bytes as they came.
 *
 * Bounded: what is held is at most HELD_BYTES_MAX; more means that it is delivered. An answer that has to be translated as
 * a whole may be WHOLE_BYTES_MAX.
 */
import type { Clock } from "../clock/index.ts";
import { ManxError, toManxError } from "../core/index.ts";
import { incompleteError } from "../policy/index.ts";
import {
  type BodyObserver,
  type CountedTokens,
  type Ending,
  errorInJson,
  isCutShort,
  type StreamFormat,
  StreamObserver,
  Transcript,
  type UpstreamError,
  usageInJson,
} from "../stream/index.ts";
import { TranslatingSource, translateRefusal, translateWhole } from "./answer-translator.ts";
import type { AttemptSink, Fault } from "./attempt.ts";
import {
  ContinuedSource,
  PassingSource,
  type Prefill,
  promptTokens,
} from "./continuation/index.ts";
import { type ResponseHead, responseHead, translatedHead } from "./headers.ts";
import { JsonObserver } from "./json-observer.ts";
import type { OutgoingSource } from "./outgoing-source.ts";
import type { Translation } from "./translation.ts";

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

/** Times of a call that are not its upstream's, in µs so far. */
export interface CallWaits {
  /** It has waited to be let in. */
  readonly queuedUs: number;
  /** The client has held the answer up. */
  readonly heldUs: number;
}

export interface ReceptionOptions {
  readonly attempt: number;
  /** How its event stream is read; null if no decoder knows it. */
  readonly format: StreamFormat | null;
  readonly translation: Translation | null;
  readonly receivedUs: number;
  readonly waits: CallWaits;
  readonly clock: Clock;
  /** Its text may have to be gone on with: it is kept, and goes out in whole frames. */
  readonly keepsText: boolean;
  /** The answer whose rest this is. */
  readonly continues: Continued | undefined;
}

/** An answer that broke off, for the one that goes on with it. */
export interface Continued {
  /** Of the whole. */
  readonly stream: StreamObserver;
  readonly source: ContinuedSource;
}

const HELD_BYTES_MAX = 256 * 1024;
const WHOLE_BYTES_MAX = 16 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

export class Reception implements AttemptSink {
  readonly #options: ReceptionOptions;
  readonly #events: ReceptionEvents;
  #rawHeaders: string[] = [];
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isDelivered = false;
  #observer: BodyObserver | undefined;
  #translating: OutgoingSource | undefined;
  #jsonUsage: CountedTokens | undefined;
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

  /** As the upstream has counted; undefined if it has not said. */
  get usage(): CountedTokens | undefined {
    const usage = this.stream?.usage;
    if (usage === undefined) return this.#jsonUsage;
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
    if (inputTokens === null || outputTokens === null) return undefined;
    const { translation, format } = this.#options;
    // Anthropic counts what came from its cache, or went there, beside the prompt.
    const isBeside = (translation?.from ?? format) === "anthropic-messages";
    const beside = isBeside ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
    const cachedTokens = cacheReadTokens ?? 0;
    // What was computed twice is paid for twice.
    const again = this.#options.continues?.source.extraTokens ?? 0;
    return {
      ...(cacheWriteTokens !== null && { writtenTokens: cacheWriteTokens }),
      inputTokens: inputTokens + beside + again,
      outputTokens,
      cachedTokens,
    };
  }

  /** What it has said so far, if it is kept. */
  get transcript(): Transcript | undefined {
    const source = this.#translating;
    if (source instanceof PassingSource && source.isSpilled) return undefined;
    return this.stream?.transcript;
  }

  /** What another upstream needs to go on with it. @param next that upstream's translation. */
  continuedBy(next: Translation | null, prefill: Prefill, includeUsage: boolean): Continued {
    const { translation, format } = this.#options;
    const stream = this.stream!;
    const { id, model, usage, frame } = stream.transcript!;
    const from = translation?.from ?? format!;
    const passing = this.#translating instanceof PassingSource ? this.#translating : undefined;
    const source = new ContinuedSource({
      ...{ from: next?.from ?? format!, to: format!, prefill, includeUsage },
      id: id ?? translation?.id ?? "",
      model: translation?.model ?? model ?? "",
      createdS: translation?.createdS ?? passing?.createdS ?? 0,
      promptTokens: usage?.inputTokens == null ? null : promptTokens(usage, from),
      frames: frame + 1,
    });
    return { stream, source };
  }

  /** As the upstream sent them, names and values in turn. */
  get rawHeaders(): readonly string[] {
    return this.#rawHeaders;
  }

  /** What has been held back, in order; from now on bytes go straight through. */
  deliver(): Buffer {
    this.#isDelivered = true;
    return this.#takeHeld();
  }

  /** A refusal in the caller's format. */
  takeRefusal(): { readonly status: number; readonly body: Buffer } {
    const body = this.#takeHeld();
    const { translation } = this.#options;
    if (translation === null) return { status: this.status, body };
    return translateRefusal(this.status, body, translation);
  }

  #takeHeld(): Buffer {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held.length === 0 ? EMPTY : held.length === 1 ? held[0]! : Buffer.concat(held);
  }

  onSent(nowUs: number): void {
    this.#events.sent(this.#options.attempt, nowUs);
  }

  onHead(status: number, rawHeaders: string[], nowUs: number): void {
    const { attempt } = this.#options;
    this.status = status;
    this.#rawHeaders = rawHeaders;
    const head = responseHead(rawHeaders);
    this.head = this.#options.translation === null ? head : translatedHead(head);
    if (status >= 400) return;
    this.#events.head(attempt, status, nowUs);
    this.#observer = this.#observerFor(head);
    // No decoder for it: it would be held for ever.
    if (head.isEventStream && this.#observer === undefined) this.#events.content(attempt, nowUs);
  }

  #observerFor(head: ResponseHead): BodyObserver | undefined {
    const { format, translation, receivedUs, continues } = this.#options;
    if (continues !== undefined) return this.#goOn(continues, head);
    if (head.isEncoded) {
      if (translation === null) return undefined;
      throw new ManxError("MANX_TRANSLATE_ANSWER", { got: "a compressed answer" });
    }
    if (head.isJson)
      return new JsonObserver({ isUnsized: head.isUnsized, readAbove: HELD_BYTES_MAX });
    if (!head.isEventStream || format === null) return undefined;
    if (translation !== null) this.#translating = new TranslatingSource(translation);
    else if (this.#options.keepsText) this.#translating = new PassingSource(format);
    const transcript = this.#options.keepsText ? new Transcript() : undefined;
    return new StreamObserver(this.#translating ?? format, receivedUs, transcript);
  }

  #goOn({ stream, source }: Continued, head: ResponseHead): BodyObserver {
    if (!head.isEventStream || head.isEncoded) {
      throw new ManxError("MANX_TRANSLATE_ANSWER", { expected: "an event stream in the clear" });
    }
    this.#translating = source;
    stream.goOn(source);
    return stream;
  }

  onData(chunk: Buffer, nowUs: number): void {
    const { attempt } = this.#options;
    if (this.#isDelivered) {
      this.#passThrough(chunk, nowUs);
      return;
    }
    if (this.status >= 400) {
      this.#hold(chunk);
      if (this.#heldBytes > HELD_BYTES_MAX) this.#events.refused(attempt, nowUs);
      return;
    }
    const observer = this.#observe(chunk, nowUs - this.#options.waits.heldUs, nowUs);
    this.#hold(this.#translating?.take() ?? chunk);
    if (observer?.error !== undefined && !observer.hasContent) {
      this.#events.errorInBand(attempt, observer.error, nowUs);
    } else if (observer?.hasContent === true || this.#isTooMuch()) {
      this.#events.content(attempt, nowUs);
    }
  }

  #isTooMuch(): boolean {
    if (this.#options.translation === null || this.#translating !== undefined) {
      return this.#heldBytes > HELD_BYTES_MAX;
    }
    if (this.#heldBytes <= WHOLE_BYTES_MAX) return false;
    throw new ManxError("MANX_TRANSLATE_ANSWER", {
      expected: `at most ${WHOLE_BYTES_MAX} bytes`,
      got: "more",
    });
  }

  #passThrough(chunk: Buffer, nowUs: number): void {
    // Its time is read before it is written: a write may begin a time that does not count.
    const atUs = nowUs - this.#options.waits.heldUs;
    if (this.#translating === undefined) {
      this.#events.bytes(chunk);
      this.#observe(chunk, atUs, nowUs);
      return;
    }
    this.#observe(chunk, atUs, nowUs);
    const translated = this.#translating.take();
    if (translated.length > 0) this.#events.bytes(translated);
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
    const atUs = nowUs - this.#options.waits.heldUs;
    if (last !== undefined) this.#observer?.push(last, atUs);
    const ending = this.#observer?.end(atUs) ?? "unknown";
    const rest = this.#translating?.take() ?? last;
    if (ending === "incomplete") {
      // Of an answer that is no stream the last bytes are kept: with them it would be as long as its head says.
      if (rest !== undefined && this.stream !== undefined) this.#pass(rest);
      const error = incompleteError("an end before its time");
      this.#breakOff({ kind: "cut", error }, nowUs);
    } else if (this.#isDelivered) {
      this.#events.complete(attempt, this.#whole(ending), rest, nowUs);
    } else {
      if (rest !== undefined) this.#hold(rest);
      this.#endHeld(ending, nowUs);
    }
  }

  /** Whole for the decoder, but not all of it could be translated: its last frame says so. */
  #whole(ending: Ending): Ending {
    return this.#translating?.isBroken === true ? "error" : ending;
  }

  /** Whole before anything of it was delivered. */
  #endHeld(ending: Ending, nowUs: number): void {
    const { attempt } = this.#options;
    const error = this.#errorAtEnd();
    if (error !== undefined) {
      this.#events.errorInBand(attempt, error, nowUs);
      return;
    }
    if (this.stream === undefined && this.#readWhole()) {
      const error = incompleteError("JSON that stops before its end");
      this.#events.fault(attempt, { kind: "cut", error }, nowUs);
      return;
    }
    if (this.#needsTranslation()) {
      try {
        this.#held = [translateWhole(this.#takeHeld(), this.#options.translation!)];
      } catch (thrown) {
        this.#events.fault(attempt, { kind: "garbage", error: toManxError(thrown) }, nowUs);
        return;
      }
    }
    if (this.stream?.hasContent ?? true) this.#events.content(attempt, nowUs);
    this.#events.complete(attempt, this.#whole(ending), undefined, nowUs);
  }

  /** @returns whether the body is JSON that stops before its end. */
  #readWhole(): boolean {
    const body = this.#takeHeld();
    this.#hold(body);
    this.#jsonUsage = usageInJson(body);
    return this.head?.isJson === true && !this.head.isEncoded && isCutShort(body);
  }

  #needsTranslation(): boolean {
    return this.#options.translation !== null && this.#translating === undefined;
  }

  /** A whole answer that says in its body that it is none. */
  #errorAtEnd(): UpstreamError | undefined {
    const stream = this.stream;
    if (stream !== undefined) return stream.hasContent ? undefined : stream.error;
    if (this.head?.isJson !== true || this.head.isEncoded) return undefined;
    return errorInJson(this.#held);
  }

  onFault(fault: Fault): void {
    const { attempt, clock, waits } = this.#options;
    const nowUs = clock.nowUs();
    const ending = this.#observer?.end(nowUs - waits.heldUs) ?? "unknown";
    const rest = this.#translating?.take();
    if (rest !== undefined && rest.length > 0) this.#pass(rest);
    // What is cut after it was whole, or after an error that the upstream told itself, lacks nothing.
    if (ending === "incomplete" || ending === "unknown") this.#breakOff(fault, nowUs);
    else if (this.#isDelivered) {
      this.#events.complete(attempt, this.#whole(ending), undefined, nowUs);
    } else this.#endHeld(ending, nowUs);
  }

  /** What the model has said is the caller's, whether or not the break came in the same read. */
  #breakOff(fault: Fault, nowUs: number): void {
    const { attempt } = this.#options;
    if (!this.#isDelivered && this.stream?.hasContent === true) {
      this.#events.content(attempt, nowUs);
    }
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
