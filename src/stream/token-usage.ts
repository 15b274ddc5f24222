/**
 * Token counts as a server reports them. Reports are cumulative on every wire: the last value of each field wins and an
 * absent field keeps the former one; they are never added up (casebook GW-20). What no report has named stays null: an
 * unknown count is not zero.
 */
import { isObject, type JsonObject } from "./json-object.ts";

export interface TokenUsage {
  /** Prompt tokens as the wire counts them: OpenAI's include those read from the cache, Anthropic's do not. */
  readonly inputTokens: number | null;
  /** Reasoning included. */
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
  /** Prompt tokens that the provider's cache had. */
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
}

export const USAGE_UNKNOWN: TokenUsage = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

/** @param wire the `usage` field of a chat completion chunk. */
export function mergeChatUsage(before: TokenUsage, wire: JsonObject): TokenUsage {
  const prompt = child(wire, "prompt_tokens_details");
  const completion = child(wire, "completion_tokens_details");
  return {
    inputTokens: count(wire.prompt_tokens) ?? before.inputTokens,
    outputTokens: count(wire.completion_tokens) ?? before.outputTokens,
    totalTokens: count(wire.total_tokens) ?? before.totalTokens,
    cacheReadTokens: count(prompt.cached_tokens) ?? before.cacheReadTokens,
    cacheWriteTokens: count(prompt.cache_write_tokens) ?? before.cacheWriteTokens,
    reasoningTokens: count(completion.reasoning_tokens) ?? before.reasoningTokens,
  };
}

/** @param wire the `usage` field of a response. */
export function mergeResponsesUsage(before: TokenUsage, wire: JsonObject): TokenUsage {
  const input = child(wire, "input_tokens_details");
  const output = child(wire, "output_tokens_details");
  return {
    inputTokens: count(wire.input_tokens) ?? before.inputTokens,
    outputTokens: count(wire.output_tokens) ?? before.outputTokens,
    totalTokens: count(wire.total_tokens) ?? before.totalTokens,
    cacheReadTokens: count(input.cached_tokens) ?? before.cacheReadTokens,
    cacheWriteTokens: count(input.cache_write_tokens) ?? before.cacheWriteTokens,
    reasoningTokens: count(output.reasoning_tokens) ?? before.reasoningTokens,
  };
}

/** @param wire the `usage` field of `message_start` or `message_delta`. */
export function mergeMessagesUsage(before: TokenUsage, wire: JsonObject): TokenUsage {
  const output = child(wire, "output_tokens_details");
  return {
    inputTokens: count(wire.input_tokens) ?? before.inputTokens,
    outputTokens: count(wire.output_tokens) ?? before.outputTokens,
    totalTokens: before.totalTokens,
    cacheReadTokens: count(wire.cache_read_input_tokens) ?? before.cacheReadTokens,
    cacheWriteTokens: count(wire.cache_creation_input_tokens) ?? before.cacheWriteTokens,
    reasoningTokens: count(output.thinking_tokens) ?? before.reasoningTokens,
  };
}

/** @param wire the `usageMetadata` of Gemini's answer, whose candidates' tokens do not include the thoughts. */
export function mergeGeminiUsage(before: TokenUsage, wire: JsonObject): TokenUsage {
  const thoughts = count(wire.thoughtsTokenCount) ?? before.reasoningTokens;
  const said = count(wire.candidatesTokenCount);
  return {
    inputTokens: count(wire.promptTokenCount) ?? before.inputTokens,
    outputTokens: said === undefined ? before.outputTokens : said + (thoughts ?? 0),
    totalTokens: count(wire.totalTokenCount) ?? before.totalTokens,
    cacheReadTokens: count(wire.cachedContentTokenCount) ?? before.cacheReadTokens,
    cacheWriteTokens: before.cacheWriteTokens,
    reasoningTokens: thoughts,
  };
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function child(wire: JsonObject, name: string): JsonObject {
  const value = wire[name];
  return isObject(value) ? value : {};
}
