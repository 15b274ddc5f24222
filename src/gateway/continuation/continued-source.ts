/**
 * The second part of an answer, on its way into a stream that the caller reads already: no second beginning, the names of
 * the first part, text that follows on, and in the end the tokens of both parts as if they were one.
 *
 *     bytes ─StreamDecoder─► events ─► without a beginning, counted on ─► StreamEncoder of the caller's format ─► bytes
 */
import {
  type Completion,
  createDecoder,
  createEncoder,
  type StreamDecoder,
  type StreamEncoder,
  type StreamEvent,
  type StreamFormat,
  type TokenUsage,
} from "../../stream/index.ts";
import { convertUsage } from "../../stream/wire-words.ts";
import type { OutgoingSource } from "../outgoing-source.ts";
import type { Prefill } from "./prefill.ts";

export interface ContinuedOptions {
  /** Of the upstream that goes on. */
  readonly from: StreamFormat;
  /** The caller's. */
  readonly to: StreamFormat;
  /** As the first part has them. */
  readonly id: string;
  readonly model: string;
  readonly createdS: number;
  readonly includeUsage: boolean;
  readonly prefill: Prefill;
  /** Prompt tokens of the first part, cached ones and all; null if it has not said. */
  readonly promptTokens: number | null;
  /** Frames of the first part. */
  readonly frames: number;
}

export class ContinuedSource implements OutgoingSource {
  readonly #options: ContinuedOptions;
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;
  /** White space that the caller has and the model may say once more. */
  #tail: string;
  #out = "";
  /** Something was lost, or it has not finished: the caller must be told. */
  isBroken = false;

  constructor(options: ContinuedOptions) {
    const { from, to, id, model, createdS, includeUsage, prefill } = options;
    this.#options = options;
    this.#decoder = createDecoder(from);
    this.#encoder = createEncoder(to, { id, model, createdS, includeUsage });
    this.#tail = prefill.tail;
    // Where the caller's stream is: begun, and within its first text.
    this.#encoder.encode({ type: "response-start", id, model });
    this.#encoder.encode({ type: "text-delta", choice: 0, text: prefill.text });
  }

  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[] {
    return this.#pass(this.#decoder.push(bytes, atUs));
  }

  end(atUs: number): readonly StreamEvent[] {
    const events = this.#pass(this.#decoder.end(atUs));
    const { state } = this.#decoder.completion;
    const isWhole = state === "complete" || state === "empty";
    if (isWhole && !this.#encoder.hasFailed) this.#out += this.#encoder.finish();
    else this.isBroken = true;
    return events;
  }

  get completion(): Completion {
    const { completion } = this.#decoder;
    return { ...completion, usage: this.#joined(completion.usage) };
  }

  /** What has become ready for the caller since the last call. */
  take(): Buffer {
    const out = this.#out;
    this.#out = "";
    return Buffer.from(out);
  }

  /** Prompt tokens that were computed for the sake of the second part, in all. */
  get extraTokens(): number {
    const { usage } = this.#decoder.completion;
    return usage.inputTokens === null ? 0 : this.#promptOf(usage);
  }

  #pass(events: readonly StreamEvent[]): readonly StreamEvent[] {
    const passed: StreamEvent[] = [];
    for (const event of events) {
      const own = this.#follow(event);
      if (own === undefined) continue;
      const counted = { ...own, frame: own.frame + this.#options.frames };
      passed.push(counted);
      this.#encode(counted);
    }
    return passed;
  }

  /** @returns the event as it is within the whole answer; undefined if it is none of it. */
  #follow(event: StreamEvent): StreamEvent | undefined {
    switch (event.type) {
      case "response-start":
        return undefined;
      case "text-delta":
        return { ...event, text: this.#withoutTail(event.text) };
      case "block-start":
        // The text is open; what is opened beside it is news.
        return event.kind === "text" ? undefined : event;
      case "usage":
        return { ...event, usage: this.#joined(event.usage) };
      default:
        return event;
    }
  }

  #encode(event: StreamEvent): void {
    if ("choice" in event && event.choice !== 0) return;
    if (event.type === "text-delta" && event.text === "") return;
    const { from, to } = this.#options;
    if (event.type === "usage") {
      this.#encoder.encode({ ...event, usage: convertUsage(event.usage, from, to) });
    } else if (event.type === "fault" && event.code !== "stream-incomplete") {
      const message = `a piece of the upstream's answer could not be read (${event.code})`;
      this.#out += this.#encoder.encode({
        ...{ type: "error", errorType: "api_error", message, status: 502 },
      });
    } else this.#out += this.#encoder.encode(event);
  }

  #withoutTail(text: string): string {
    let at = 0;
    while (at < this.#tail.length && at < text.length && text[at] === this.#tail[at]) at += 1;
    // At the first character that differs the model goes its own way.
    this.#tail = at === text.length ? this.#tail.slice(at) : "";
    return text.slice(at);
  }

  /** The tokens of the whole answer, as the second part's wire counts. */
  #joined(usage: TokenUsage): TokenUsage {
    const { inputTokens, outputTokens } = usage;
    const given = this.#givenTokens(usage);
    const input = inputTokens === null ? null : Math.max(0, inputTokens - given);
    const output = outputTokens === null ? null : outputTokens + given;
    const totalTokens = usage.totalTokens === null ? null : (input ?? 0) + (output ?? 0);
    return { ...usage, inputTokens: input, outputTokens: output, totalTokens };
  }

  /** Tokens of the text that was given: the difference of the two prompts where both are known and it is plausible. */
  #givenTokens(usage: TokenUsage): number {
    const { promptTokens, prefill } = this.#options;
    if (promptTokens === null || usage.inputTokens === null) return prefill.tokens;
    const difference = this.#promptOf(usage) - promptTokens;
    const isPlausible = difference > prefill.tokens / 4 && difference < prefill.tokens * 4;
    return isPlausible ? difference : prefill.tokens;
  }

  #promptOf(usage: TokenUsage): number {
    return promptTokens(usage, this.#options.from);
  }
}

/** @returns tokens of the prompt, cached ones and all. */
export function promptTokens(usage: TokenUsage, format: StreamFormat): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const beside =
    format === "anthropic-messages" ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
  return (inputTokens ?? 0) + beside;
}
