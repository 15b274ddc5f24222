/**
 * Token counts in the words of each wire. Counts that are not known are left out or null: a zero would be a claim.
 *
 * The wires disagree on one thing: OpenAI's prompt tokens include those that the cache had or took, Anthropic's
 * `input_tokens` leave them out. `convertUsage` is the only place that knows it.
 */
import type { StreamFormat } from "./stream-decoder.ts";
import type { TokenUsage } from "./token-usage.ts";

/**
 * @param usage as the wire `from` counts.
 * @returns the same tokens as the wire `to` counts, never below 0.
 */
export function convertUsage(usage: TokenUsage, from: StreamFormat, to: StreamFormat): TokenUsage {
  const wasOpenAi = from !== "anthropic-messages";
  const isOpenAi = to !== "anthropic-messages";
  if (wasOpenAi === isOpenAi || usage.inputTokens === null) return usage;
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  if (!isOpenAi) return { ...usage, inputTokens: Math.max(0, usage.inputTokens - cached) };
  const inputTokens = usage.inputTokens + cached;
  const { outputTokens } = usage;
  const sum = outputTokens === null ? null : inputTokens + outputTokens;
  const totalTokens = usage.totalTokens ?? sum;
  return { ...usage, inputTokens, totalTokens };
}

/** `usage` of a chat completion. */
export function chatUsage(usage: TokenUsage): Record<string, unknown> {
  const { inputTokens, outputTokens, totalTokens, reasoningTokens } = usage;
  const details = cacheDetails(usage);
  return {
    ...(inputTokens !== null && { prompt_tokens: inputTokens }),
    ...(outputTokens !== null && { completion_tokens: outputTokens }),
    ...(totalTokens !== null && { total_tokens: totalTokens }),
    ...(details !== null && { prompt_tokens_details: details }),
    ...(reasoningTokens !== null && {
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    }),
  };
}

/** `usage` of a response; null if nothing is known. */
export function responsesUsage(usage: TokenUsage): Record<string, unknown> | null {
  const { inputTokens, outputTokens, totalTokens, reasoningTokens } = usage;
  if (inputTokens === null && outputTokens === null) return null;
  return {
    input_tokens: inputTokens,
    input_tokens_details: cacheDetails(usage) ?? {},
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === null ? {} : { reasoning_tokens: reasoningTokens },
    total_tokens: totalTokens,
  };
}

/** `usage` of a message. Its two main counts are always there, null if not known. */
export function messagesUsage(usage: TokenUsage): Record<string, unknown> {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...(cacheReadTokens !== null && { cache_read_input_tokens: cacheReadTokens }),
    ...(cacheWriteTokens !== null && { cache_creation_input_tokens: cacheWriteTokens }),
    ...(reasoningTokens !== null && {
      output_tokens_details: { thinking_tokens: reasoningTokens },
    }),
  };
}

function cacheDetails({ cacheReadTokens, cacheWriteTokens }: TokenUsage): object | null {
  if (cacheReadTokens === null && cacheWriteTokens === null) return null;
  return {
    ...(cacheReadTokens !== null && { cached_tokens: cacheReadTokens }),
    ...(cacheWriteTokens !== null && { cache_write_tokens: cacheWriteTokens }),
  };
}
