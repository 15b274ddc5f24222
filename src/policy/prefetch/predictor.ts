/** Guesses at the next calls: rules by hand first, then what was learnt, each call once. Deterministic. */
import type { PatternMiner } from "./pattern-miner.ts";
import type { PrefetchGuess, PrefetchRule } from "./prefetch-rule.ts";
import { callKey, type TurnPast } from "./turn-past.ts";

/** A rule's own `probability` weighs as much as this many guesses. */
const RULE_WEIGHT = 4;
/** What was learnt elsewhere must not outweigh what is seen here. */
const LEARNT_WEIGHT_MAX = 20;
/** Guesses at one step. */
const GUESSES_MAX = 32;

export class Predictor {
  readonly #rules: readonly PrefetchRule[];
  readonly #miner: PatternMiner | undefined;
  /** Times that a rule threw, or answered what is no arguments. */
  ruleErrors = 0;

  constructor(rules: readonly PrefetchRule[], miner?: PatternMiner) {
    this.#rules = rules;
    this.#miner = miner;
  }

  guesses(past: TurnPast): readonly PrefetchGuess[] {
    const found = new Map<string, PrefetchGuess>();
    for (const [i, rule] of this.#rules.entries()) {
      const guess = this.#ruled(rule, i, past);
      if (guess !== undefined) add(found, guess);
    }
    for (const { key, tool, args, tries, hits } of this.#miner?.guesses(past) ?? []) {
      const weight = Math.min(1, LEARNT_WEIGHT_MAX / Math.max(1, tries));
      add(found, { key, tool, args, prior: { tries: tries * weight, hits: hits * weight } });
    }
    return [...found.values()].slice(0, GUESSES_MAX);
  }

  #ruled(rule: PrefetchRule, number: number, past: TurnPast): PrefetchGuess | undefined {
    const { tool, when, probability = 0.5 } = rule;
    try {
      if (when !== undefined && !when(past)) return undefined;
      const args = typeof rule.args === "function" ? rule.args(past) : rule.args;
      if (args === undefined) return undefined;
      // Throws for what cannot be said as JSON, which no model could ask for either.
      callKey(tool, args);
      const key = ruleName(rule, number);
      return { key, tool, args, prior: { tries: RULE_WEIGHT, hits: RULE_WEIGHT * probability } };
    } catch {
      this.ruleErrors += 1;
      return undefined;
    }
  }
}

export function ruleName({ name, tool }: PrefetchRule, number: number): string {
  return name ?? `rule ${number + 1}: ${tool}`;
}

function add(found: Map<string, PrefetchGuess>, guess: PrefetchGuess): void {
  const key = callKey(guess.tool, guess.args);
  if (!found.has(key)) found.set(key, guess);
}
