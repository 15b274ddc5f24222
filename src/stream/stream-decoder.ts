/**
 * Bytes of one response to canonical events. A decoder never throws on what the wire holds: what it cannot read becomes
 * a `fault` and is counted, and the frames after it are read as if nothing had been.
 *
 *     bytes ─Framing─► frames ─FrameReader of the format─► EventSink ─► events, completion
 */
import { lookUp } from "../core/index.ts";
import { AnthropicMessagesReader } from "./anthropic-messages.ts";
import type { Completion } from "./completion.ts";
import { EventSink } from "./event-sink.ts";
import { FrameTemplate } from "./frame-template.ts";
import { GeminiReader } from "./gemini.ts";
import { JsonArrayDecoder } from "./json-array-decoder.ts";
import { isObject, type JsonObject } from "./json-object.ts";
import { OpenAiChatReader } from "./openai-chat.ts";
import { OpenAiResponsesReader } from "./openai-responses.ts";
import { FRAME_BYTES_MAX, SseDecoder, type SseFrame } from "./sse-decoder.ts";
import type { StreamEvent } from "./stream-event.ts";
import { type ToolCallLimits, ToolCalls } from "./tool-calls.ts";
import { readWireError } from "./wire-error.ts";

export type StreamFormat = "openai-chat" | "openai-responses" | "anthropic-messages";

/** Gemini's `streamGenerateContent` is read, as events or as the JSON array that it is without `alt=sse`, not written. */
export type DecodableFormat = StreamFormat | "gemini";

export interface DecoderOptions extends ToolCallLimits {
  /** Largest frame; a larger one is skipped and is a fault. Default 16 MiB. */
  readonly frameBytesMax?: number;
  /** Shown each frame that is read, before its events are there. Default: nobody. */
  readonly tap?: FrameTap;
}

/** For whoever has to keep what the canonical events do not tell, such as a provider's own fields. */
export interface FrameTap {
  /** A frame that was parsed. */
  frame(frame: JsonObject): void;
  /** One that says the text of a choice and nothing else, and need not be parsed. */
  text(choice: number, text: string): void;
}

export interface StreamDecoder<Format extends DecodableFormat = StreamFormat> {
  readonly format: Format;
  /**
   * @param bytes of one read; not kept.
   * @param atUs when they were read, on the caller's clock.
   * @returns events of the frames that this read has completed, in order.
   */
  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[];
  /** The bytes have ended, however that came about. Further calls change nothing. */
  end(atUs: number): readonly StreamEvent[];
  /** How the response stands; meaningful at any time. */
  readonly completion: Completion;
}

/** Reads what one wire format says in its frames. */
export interface FrameReader {
  /** @returns true if the frame is the terminal one, which is no JSON on this wire. */
  isTerminal(data: string): boolean;
  read(frame: JsonObject, eventName: string): void;
  /** The wire has no terminal frame: its clean end is one, once the answer is whole. */
  readonly endsWithBytes?: boolean;
}

const READERS: Readonly<
  Record<DecodableFormat, new (sink: EventSink, calls: ToolCalls) => FrameReader>
> = {
  "openai-chat": OpenAiChatReader,
  "openai-responses": OpenAiResponsesReader,
  "anthropic-messages": AnthropicMessagesReader,
  gemini: GeminiReader,
};

/** @throws MANX_NAME_UNKNOWN for another format, with the list of those that exist. */
export function createDecoder<Format extends DecodableFormat>(
  format: Format,
  options: DecoderOptions = {},
): StreamDecoder<Format> {
  lookUp(READERS, format, "stream format");
  return new FrameDecoder(format, options);
}

/** Bytes to frames. */
interface Framing {
  push(bytes: Uint8Array): readonly SseFrame[];
  end(): number;
}

class FrameDecoder<Format extends DecodableFormat> implements StreamDecoder<Format> {
  readonly format: Format;
  readonly #framing: Framing;
  readonly #sink = new EventSink();
  readonly #calls: ToolCalls;
  readonly #reader: FrameReader;
  readonly #template = new FrameTemplate();
  readonly #tap: FrameTap | undefined;
  #hasEnded = false;

  constructor(format: Format, options: DecoderOptions) {
    this.format = format;
    const frameBytesMax = options.frameBytesMax ?? FRAME_BYTES_MAX;
    this.#framing =
      format === "gemini" ? new JsonArrayDecoder(frameBytesMax) : new SseDecoder(frameBytesMax);
    this.#calls = new ToolCalls(this.#sink, options);
    this.#reader = new READERS[format](this.#sink, this.#calls);
    this.#tap = options.tap;
  }

  get completion(): Completion {
    return this.#sink.tracker.completion;
  }

  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[] {
    if (this.#hasEnded) return [];
    for (const frame of this.#framing.push(bytes)) this.#read(frame, atUs);
    return this.#sink.take();
  }

  end(atUs: number): readonly StreamEvent[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const { tracker } = this.#sink;
    const tailBytes = this.#framing.end();
    this.#sink.nextFrame(atUs);
    if (tracker.isWhole) this.#calls.endAll();
    const endsWell = tailBytes === 0 && tracker.isWhole && !tracker.isDone;
    if (endsWell && this.#reader.endsWithBytes === true) this.#sink.emit({ type: "done" });
    tracker.end(tailBytes);
    if (tracker.state === "incomplete") {
      const detail =
        tailBytes === 0 ? "ended between frames" : `ended ${tailBytes} bytes into a frame`;
      this.#sink.emit({ type: "fault", code: "stream-incomplete", detail });
    }
    return this.#sink.take();
  }

  #read(frame: SseFrame, atUs: number): void {
    const sink = this.#sink;
    sink.nextFrame(atUs);
    if (frame.kind === "comment") sink.emit({ type: "ping" });
    else if (sink.tracker.isDone) sink.tracker.lateFrames += 1;
    else if (frame.kind === "oversize") {
      sink.emit({ type: "fault", code: "frame-size", detail: `over ${frame.limitBytes} bytes` });
    } else this.#readEvent(frame);
  }

  #readEvent(frame: SseFrame & { kind: "event" }): void {
    const sink = this.#sink;
    const template = this.#template;
    const text = template.match(frame);
    if (text !== undefined) {
      this.#tap?.text(template.choice, text);
      sink.emit({ type: "text-delta", choice: template.choice, text });
      return;
    }
    const before = sink.pending;
    this.#readData(frame.data, frame.event);
    const only = sink.onlySince(before);
    if (only?.type === "text-delta") template.learn(frame, only);
    else template.forget();
  }

  #readData(data: string, eventName: string): void {
    const sink = this.#sink;
    if (this.#reader.isTerminal(data)) {
      this.#calls.endAll();
      sink.emit({ type: "done" });
      return;
    }
    const value = parse(data);
    if (isObject(value)) {
      this.#tap?.frame(value);
      this.#reader.read(value, eventName);
    } else if (data.trim() === "") sink.emit({ type: "ping" });
    else if (eventName === "error") sink.emit(readWireError(data));
    else {
      // What it holds may be a user's words: the fault tells its size only.
      const detail = `${data.length} characters that are no JSON object`;
      sink.emit({ type: "fault", code: "frame-json", detail });
    }
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
