/**
 * How hard a model is to think: OpenAI says it in words, Anthropic in words or, for older models, as a budget of tokens.
 * The tokens for a word are a choice of ours, since no provider names them; they are powers of two from Anthropic's least
 * budget on, and the way back takes the largest word whose budget is not above it.
 */
import type { Effort, Reasoning } from "./canonical-request.ts";
import { malformed } from "./fields.ts";

/** The least that Anthropic takes. */
export const BUDGET_MIN = 1_024;

const BUDGETS: ReadonlyArray<readonly [Effort, number]> = [
  ["minimal", BUDGET_MIN],
  ["low", 2_048],
  ["medium", 8_192],
  ["high", 16_384],
  ["xhigh", 32_768],
  ["max", 65_536],
];

const WORDS: readonly string[] = BUDGETS.map(([word]) => word);

export function isEffort(word: string): word is Effort {
  return WORDS.includes(word);
}

/** OpenAI's word; `none` is no thinking at all. */
export function readEffort(word: string | undefined, where: string): Reasoning | null {
  if (word === undefined) return null;
  if (word === "none") return { mode: "off", effort: null, budgetTokens: null };
  if (!isEffort(word)) throw malformed(where, ["none", ...WORDS].join(", "), word);
  return { mode: "on", effort: word, budgetTokens: null };
}

export function budgetOf(effort: Effort | null): number {
  return BUDGETS.find(([word]) => word === effort)?.[1] ?? 8_192;
}

/** OpenAI's models do not all know the words above `high`, so a budget never becomes one of them. */
export function effortOf(budgetTokens: number): Effort {
  if (budgetTokens >= 16_384) return "high";
  return budgetTokens >= 8_192 ? "medium" : "low";
}
