/**
 * Extra attempts as a share of the traffic, counted in calls and in prompt tokens: a retried prompt of 100,000 tokens costs
 * what a hundred short ones cost, and a budget in calls alone does not see it. Each call pays in `share`, an extra attempt
 * takes out 1; both purses must hold enough.
 *
 * Invariant: extra ≤ reserve + share × calls, and the same in tokens, over any stretch that begins with full purses.
 */
import { assert } from "../../core/index.ts";

export interface AttemptBudgetOptions {
  /** 0 to 1. */
  readonly share: number;
  /** Extra attempts that may be saved up, and that an idle process starts with times `fill`. */
  readonly callsMax: number;
  /** 0 to 1: how full the purses are at the start. */
  readonly fill: number;
}

/** What an average call costs before one was seen; only the size of the first reserve depends on it. */
const TOKENS_ASSUMED = 2_000;
/** Weight of a call in the running mean. */
const MEAN_WEIGHT = 1 / 64;

export class AttemptBudget {
  readonly #share: number;
  readonly #callsMax: number;
  #calls: number;
  #tokens: number;
  #meanTokens = TOKENS_ASSUMED;
  /** Extra attempts that were allowed, and those that were not. */
  spent = 0;
  refused = 0;
  spentTokens = 0;

  constructor(options: AttemptBudgetOptions) {
    const { share, callsMax, fill } = options;
    assert(share >= 0 && share <= 1 && fill >= 0 && fill <= 1, "shares are 0 to 1");
    this.#share = share;
    this.#callsMax = callsMax;
    this.#calls = callsMax * fill;
    this.#tokens = callsMax * fill * TOKENS_ASSUMED;
  }

  /** A call has come in. */
  earn(tokens: number): void {
    this.#meanTokens += (tokens - this.#meanTokens) * MEAN_WEIGHT;
    this.#calls = Math.min(this.#callsMax, this.#calls + this.#share);
    const tokensMax = this.#callsMax * Math.max(this.#meanTokens, 1);
    this.#tokens = Math.min(tokensMax, this.#tokens + this.#share * tokens);
  }

  /** @returns whether one more attempt of that size may begin; if so, it is paid for. */
  trySpend(tokens: number): boolean {
    // Comparing with a hair less than 1 keeps twenty payments of 0.05 worth one attempt.
    if (this.#calls < 1 - 1e-9 || this.#tokens < tokens * (1 - 1e-9)) {
      this.refused += 1;
      return false;
    }
    this.#calls -= 1;
    this.#tokens -= tokens;
    this.spent += 1;
    this.spentTokens += tokens;
    return true;
  }
}
