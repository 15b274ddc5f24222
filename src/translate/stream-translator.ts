/**
 * One streamed answer from the upstream's wire format into the client's, while it runs:
 *
 *     bytes ─StreamDecoder─► canonical events ─StreamEncoder─► bytes
 *
 * Invariant: what a read has completed is in the answer to that read; nothing waits for a later one but what the target's
 * wire wants at its end. The output depends on the bytes alone, not on where they were cut. A stream that was not whole
 * never gets a terminal frame, and one in which something could not be read ends with an error: a translated answer must
 * not lack a piece in silence.
 */
import {
  type Completion,
  createDecoder,
  createEncoder,
  type FaultCode,
  type StreamDecoder,
  type StreamEncoder,
  type StreamEvent,
  type StreamEventBody,
  type StreamFormat,
  type UpstreamError,
} from "../stream/index.ts";
import { convertUsage } from "../stream/wire-words.ts";
import { wrapSeal } from "./seal.ts";

export interface StreamTranslatorOptions {
  /** Of the response, if the upstream gives it none. */
  readonly id: string;
  /** The model that the client asked for; without it the upstream's own name is passed on. */
  readonly model?: string;
  /** Unix time, seconds, for formats whose frames carry it. Default 0. */
  readonly createdS?: number;
  /** Chat completions only: add a chunk with the usage. Default false, as on that API. */
  readonly includeUsage?: boolean;
}

export interface TranslatedEnd {
  readonly bytes: Uint8Array;
  /** The upstream's answer was whole and all of it was translated. If not, call `fail` or break the connection. */
  readonly isComplete: boolean;
}

const NO_BYTES = new Uint8Array(0);
const UTF8 = new TextEncoder();

/** Faults that mean that a piece of the answer is gone. */
const LOSSES: ReadonlySet<FaultCode> = new Set([
  "frame-json",
  "frame-size",
  "tool-ambiguous",
  "tool-limit",
]);

export class StreamTranslator {
  readonly #from: StreamFormat;
  readonly #to: StreamFormat;
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;
  #events: readonly StreamEvent[] = [];
  #wasRedacted = false;

  /** @throws MANX_NAME_UNKNOWN for a format that does not exist. */
  constructor(from: StreamFormat, to: StreamFormat, options: StreamTranslatorOptions) {
    this.#from = from;
    this.#to = to;
    this.#decoder = createDecoder(from);
    this.#encoder = createEncoder(to, {
      id: options.id,
      model: options.model ?? null,
      createdS: options.createdS ?? 0,
      includeUsage: options.includeUsage ?? false,
    });
  }

  /**
   * @param bytes of one read; not kept.
   * @param atUs when they were read, on the caller's clock; only `events` carry it.
   * @returns whole frames of the target format, often none.
   */
  push(bytes: Uint8Array, atUs: number): Uint8Array {
    this.#events = this.#decoder.push(bytes, atUs);
    return this.#encodeAll(this.#events);
  }

  /** The upstream's bytes have ended, however that came about. An incomplete answer gets no frame. */
  end(atUs: number): TranslatedEnd {
    this.#events = this.#decoder.end(atUs);
    const { state } = this.#decoder.completion;
    const isWhole = state === "complete" || state === "empty";
    const last = this.#encodeAll(this.#events);
    if (!isWhole || this.#encoder.hasFailed) return { bytes: last, isComplete: false };
    const bytes = UTF8.encode(this.#encoder.finish());
    return { bytes: last.length === 0 ? bytes : concat(last, bytes), isComplete: true };
  }

  /** Ends the client's stream with an error in its own format. @returns no bytes if it has ended already. */
  fail(error: Omit<UpstreamError, "type">): Uint8Array {
    return UTF8.encode(this.#encoder.encode({ type: "error", ...error }));
  }

  /** Of the newest `push` or `end`, as the upstream sent them: for a timeline or a watch beside the translation. */
  get events(): readonly StreamEvent[] {
    return this.#events;
  }

  /** How the upstream's answer stands. */
  get completion(): Completion {
    return this.#decoder.completion;
  }

  #encodeAll(events: readonly StreamEvent[]): Uint8Array {
    let frames = "";
    for (const event of events) {
      // One choice was asked for; a server that sends more must not have its answers mixed into one.
      if ("choice" in event && event.choice !== 0) continue;
      frames += this.#encoder.encode(this.#convert(event));
    }
    return frames === "" ? NO_BYTES : UTF8.encode(frames);
  }

  #convert(event: StreamEvent): StreamEventBody {
    switch (event.type) {
      case "usage":
        return { ...event, usage: convertUsage(event.usage, this.#from, this.#to) };
      case "reasoning-delta":
        this.#wasRedacted = event.redacted;
        return event;
      case "reasoning-signature":
        return { ...event, signature: this.#wrap(event.signature) };
      case "fault":
        return LOSSES.has(event.code) ? this.#loss(event.code) : event;
      default:
        return event;
    }
  }

  #wrap(data: string): string {
    if (data === "" || this.#from === "openai-chat" || this.#from === this.#to) return data;
    if (this.#from === "openai-responses") {
      return wrapSeal({ owner: this.#from, kind: "redacted", data });
    }
    const kind = this.#wasRedacted ? "redacted" : "signature";
    this.#wasRedacted = false;
    return wrapSeal({ owner: this.#from, kind, data });
  }

  #loss(code: FaultCode): UpstreamError {
    const message = `a piece of the upstream's answer could not be read (${code})`;
    return { type: "error", errorType: "api_error", message, status: 502 };
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
