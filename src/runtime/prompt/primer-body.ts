/** The cheapest request that leaves a compiled prompt in the provider's cache: all of the prompt, as good as none of the answer. */
import type { CompiledPrompt } from "./compile-prompt.ts";

/** Least that the API of responses takes. */
const RESPONSES_TOKENS_MIN = 16;
/** A conversation needs somebody who speaks; it stands behind all marks. */
const OPENING = { role: "user", content: "." };

export function primerBody({ body, format, rules }: CompiledPrompt): Record<string, unknown> {
  const { stream: _, max_tokens: __, max_completion_tokens: ___, ...prompt } = body;
  if (format === "anthropic-messages") {
    return { ...prompt, messages: opened(body.messages), max_tokens: 1 };
  }
  if (format === "openai-chat") {
    return { ...prompt, messages: opened(body.messages), max_completion_tokens: 1 };
  }
  const canPrewarm = rules.lifetimes[0].writeFactor > 1;
  return {
    ...prompt,
    input: opened(body.input),
    max_output_tokens: RESPONSES_TOKENS_MIN,
    ...(canPrewarm && { prompt_cache_options: { prewarm: true } }),
  };
}

function opened(said: unknown): unknown {
  const list = Array.isArray(said) ? (said as { role?: unknown }[]) : [];
  return list.some(({ role }) => role === "user") ? list : [...list, OPENING];
}
