/**
 * What the model has said, kept in the form in which its provider wants to read it again: the next request is the old one,
 * this, and the results. Reasoning comes back as it came, with its signature or encrypted, since providers refuse a call
 * whose reasoning is missing or was changed.
 *
 * Invariants: each call in it has a result beside it and the other way round, since a provider refuses both; arguments are
 * a JSON object, `{}` where the model wrote none that can be read.
 */
import type { Completion, DecodableFormat, ToolEnd } from "../stream/index.ts";
import type { FrameTap } from "../stream/stream-decoder.ts";
import { AnthropicBlocks } from "./assistant/anthropic-blocks.ts";
import { ChatParts } from "./assistant/chat-parts.ts";
import { GeminiParts } from "./assistant/gemini-parts.ts";
import { ResponseItems } from "./assistant/response-items.ts";
import type { StreamVerdict } from "./stream-verdict.ts";

/** What one wire keeps of its frames. */
export interface MessageKeeper extends FrameTap {
  /** @param calls those that have a result: `id` is what the results name. */
  messages(calls: readonly ToolEnd[], isPaused: boolean): readonly object[];
}

const KEEPERS: Readonly<Record<DecodableFormat, new () => MessageKeeper>> = {
  "openai-chat": ChatParts,
  "openai-responses": ResponseItems,
  "anthropic-messages": AnthropicBlocks,
  gemini: GeminiParts,
};

/** The model may be asked for more after these; what it said so far stands. */
const STANDS: ReadonlySet<StreamVerdict> = new Set([
  "run",
  "no-calls",
  "truncated",
  "filtered",
  "paused",
  "unsafe",
]);

export class AssistantMessage implements FrameTap {
  readonly #keeper: MessageKeeper;

  constructor(format: DecodableFormat) {
    this.#keeper = new KEEPERS[format]();
  }

  frame(frame: Readonly<Record<string, unknown>>): void {
    this.#keeper.frame(frame);
  }

  text(choice: number, text: string): void {
    if (choice === 0) this.#keeper.text(choice, text);
  }

  messages({ toolCalls }: Completion, verdict: StreamVerdict | undefined): readonly object[] {
    if (verdict === undefined || !STANDS.has(verdict)) return [];
    const seen = new Set<string>();
    const answered =
      verdict === "run"
        ? toolCalls.filter(({ id, choice, byServer }) => {
            return choice === 0 && !byServer && !seen.has(id) && seen.add(id);
          })
        : [];
    return this.#keeper.messages(answered, verdict === "paused");
  }
}
