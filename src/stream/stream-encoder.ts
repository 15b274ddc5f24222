/**
 * Canonical events of one response back into a wire format, each at once: what an event says is in the frames that
 * `encode` answers with. Only what a wire wants at its end waits for it: usage, and the frame that carries the reason.
 *
 * Invariant: the frames are well-formed wherever the events stop, and only `done` or `finish()` writes the terminal one.
 * After an error nothing follows, so that a cut answer never looks whole (casebook GW-04, GW-06).
 */
import { lookUp } from "../core/index.ts";
import { ChatStreamEncoder } from "./chat-stream-encoder.ts";
import { MessagesStreamEncoder } from "./messages-stream-encoder.ts";
import { ResponsesStreamEncoder } from "./responses-stream-encoder.ts";
import type { StreamFormat } from "./stream-decoder.ts";
import type { StreamEventBody } from "./stream-event.ts";

export interface EncoderOptions {
  /** Of the response, if the events name none. */
  readonly id: string;
  /** Stands in place of the model that the events name; null leaves theirs. */
  readonly model: string | null;
  /** Unix time, seconds. */
  readonly createdS: number;
  /** Chat completions only: the client has asked for a chunk with the usage. */
  readonly includeUsage: boolean;
}

export interface StreamEncoder {
  /**
   * @param event usage in it counts as the target's wire does.
   * @returns whole frames; "" if the wire has no form for it, or its time has not come.
   */
  encode(event: StreamEventBody): string;
  /** An error has been written, an event's or one of its own: the answer is not whole, whatever its source says. */
  readonly hasFailed: boolean;
  /** The response was whole though its terminal frame never came: @returns the frames that end it. */
  finish(): string;
}

const ENCODERS: Readonly<Record<StreamFormat, new (options: EncoderOptions) => StreamEncoder>> = {
  "openai-chat": ChatStreamEncoder,
  "openai-responses": ResponsesStreamEncoder,
  "anthropic-messages": MessagesStreamEncoder,
};

/** @throws MANX_NAME_UNKNOWN for another format, with the list of those that exist. */
export function createEncoder(format: StreamFormat, options: EncoderOptions): StreamEncoder {
  lookUp(ENCODERS, format, "stream format");
  return new ENCODERS[format](options);
}
