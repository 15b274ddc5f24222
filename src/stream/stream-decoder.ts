/**
 * Bytes of one response to canonical events. A decoder never throws on what the wire holds: what it cannot read becomes
 * a `fault` and is counted, and the frames after it are read as if nothing had been.
 *
 *     bytes ─Framing─► frames ─FrameReader of the format─► EventSink ─► events, completion
 */
import { lookUp } from "../core/index.ts";
import { AnthropicMessagesReader } from "./anthropic-messages.ts";
import type { Completion } from "./completion.ts";
import { type EventListener, EventSink } from "./event-sink.ts";
import { FrameTemplate } from "./frame-template.ts";
import { GeminiReader } from "./gemini.ts";
import { JsonArrayDecoder } from "./json-array-decoder.ts";
import { isObject, type JsonObject } from "./json-object.ts";
import { OpenAiChatReader } from "./openai-chat.ts";
import { OpenAiResponsesReader } from "./openai-responses.ts";
import { FRAME_BYTES_MAX, type FrameListener, SseFrames } from "./sse-frames.ts";
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
  /** Takes the events as they come: `push` and `end` return none then. */
  readonly listener?: EventListener;
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

/** Bytes to frames, which it tells a `FrameListener`. */
interface Framing {
  push(bytes: Uint8Array): void;
  /** @returns size of what is unfinished. */
  end(): number;
  /** Lines of the event that is being told; "" if they are not at hand. */
  readonly frameText: string;
}

class FrameDecoder<Format extends DecodableFormat> implements StreamDecoder<Format>, FrameListener {
  readonly format: Format;
  readonly #framing: Framing;
  readonly #sink: EventSink;
  readonly #calls: ToolCalls;
  readonly #reader: FrameReader;
  readonly #template: FrameTemplate;
  readonly #tap: FrameTap | undefined;
  /** Nobody is there to keep what is said. */
  readonly #isSilent: boolean;
  #hasEnded = false;
  /** Of the read at hand. */
  #atUs = 0;

  constructor(format: Format, options: DecoderOptions) {
    this.format = format;
    const frameBytesMax = options.frameBytesMax ?? FRAME_BYTES_MAX;
    const Frames = format === "gemini" ? JsonArrayDecoder : SseFrames;
    this.#framing = new Frames(frameBytesMax, this);
    this.#sink = new EventSink(options.listener);
    this.#calls = new ToolCalls(this.#sink, options);
    this.#reader = new READERS[format](this.#sink, this.#calls);
    this.#template = new FrameTemplate(frameBytesMax);
    this.#tap = options.tap;
    this.#isSilent = options.listener !== undefined && options.tap === undefined;
  }

  get completion(): Completion {
    return this.#sink.tracker.completion;
  }

  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[] {
    if (this.#hasEnded) return [];
    this.#atUs = atUs;
    this.#framing.push(bytes);
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

  skim(lines: string, at: number): number {
    const template = this.#template;
    let next = at;
    for (let end = template.match(lines, at); end >= 0; end = template.match(lines, next)) {
      this.#sink.nextFrame(this.#atUs);
      if (this.#isSilent) this.#sink.say(template.type, template.textUnits);
      else this.#emitText(template.text(lines));
      next = end;
    }
    return next;
  }

  #emitText(text: string): void {
    const { type, choice } = this.#template;
    if (type === "text-delta") {
      this.#tap?.text(choice, text);
      this.#sink.emit({ type, choice, text });
    } else this.#sink.emit({ type, choice, text, redacted: false });
  }

  comment(): void {
    this.#sink.nextFrame(this.#atUs);
    this.#sink.emit({ type: "ping" });
  }

  oversize(limitBytes: number): void {
    if (!this.#begins()) return;
    this.#sink.emit({ type: "fault", code: "frame-size", detail: `over ${limitBytes} bytes` });
  }

  event(name: string, data: string): void {
    if (!this.#begins()) return;
    this.#readData(data, name);
    const only = this.#sink.onlyEvent;
    // A tap is shown the frames of everything but text.
    const isForTap = this.#tap !== undefined && only?.type !== "text-delta";
    if (isForTap || !this.#template.canLearn(only)) this.#template.forget();
    else this.#template.learn(this.#framing.frameText, only);
  }

  /** @returns whether the frame that begins is one to be read. */
  #begins(): boolean {
    const { tracker } = this.#sink;
    this.#sink.nextFrame(this.#atUs);
    if (tracker.isDone) tracker.lateFrames += 1;
    return !tracker.isDone;
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
