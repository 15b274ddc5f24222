/** A streamed answer, decoded as it comes; its figures are made once it is over, and never from anything but src/stream. */
import {
  type Completion,
  createDecoder,
  type StreamDecoder,
  type StreamFormat,
  StreamTimeline,
  type TokenUsage,
} from "../stream/index.ts";
import type { ReaderResult, ResponseReader } from "./response-reader.ts";
import type { FailureClass, StreamTimes } from "./target.ts";

export interface StreamStart {
  readonly intendedUs: number;
  readonly sentUs: number;
  readonly headersUs: number;
}

export class StreamReader implements ResponseReader {
  readonly #decoder: StreamDecoder;
  readonly #timeline: StreamTimeline;

  constructor(format: StreamFormat, { intendedUs, sentUs, headersUs }: StreamStart) {
    this.#decoder = createDecoder(format);
    this.#timeline = new StreamTimeline({ intendedUs });
    this.#timeline.sent(sentUs);
    this.#timeline.headers(headersUs);
  }

  onBytes(bytes: Uint8Array, atUs: number): void {
    this.#timeline.add(this.#decoder.push(bytes, atUs));
  }

  finish(atUs: number, isWhole: boolean): ReaderResult {
    this.#timeline.add(this.#decoder.end(atUs));
    this.#timeline.end(atUs);
    const { completion } = this.#decoder;
    const { outputTokens, cacheReadTokens } = completion.usage;
    return {
      failure: failureOf(completion, isWhole),
      stream: this.#times(),
      outputTokens,
      promptTokens: promptTokens(this.#decoder.format, completion.usage),
      cachedTokens: cacheReadTokens,
    };
  }

  #times(): StreamTimes {
    const metrics = this.#timeline.metrics();
    // Without a count of tokens a chunk is not known to be one: then there are chunk gaps and nothing finer.
    return metrics.tokensSource === "chunks" ? { ...metrics, itlUs: [], tpotUs: null } : metrics;
  }
}

/** The whole prompt: Anthropic's `input_tokens` leave out what its cache had or took. */
function promptTokens(format: StreamFormat, usage: TokenUsage): number | null {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  if (inputTokens === null || format !== "anthropic-messages") return inputTokens;
  return inputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
}

/** A whole response is a success even where the connection then broke: the wire had said that it was whole. */
function failureOf(completion: Completion, isWhole: boolean): FailureClass | null {
  if (completion.state === "error") return "in-band-error";
  if (completion.state === "incomplete" || completion.state === "open") return "stream-incomplete";
  return isWhole || !completion.terminalMissing ? null : "stream-incomplete";
}
