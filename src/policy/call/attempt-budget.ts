/**
 * Extra attempts as a share of the traffic, counted in calls and in prompt tokens: a retried prompt of 100,000 tokens costs
 * what a hundred short ones cost, and a budget in calls alone does not see it. Each call pays in `share`, an extra attempt
 * takes out 1; both purses must hold enough. Two things that a plain share would get wrong:
 *
 * - a quiet route, of a call a minute: after its reserve nine failovers in ten would be refused, and no load would be spared
 *   by it. So the calls purse earns at least a fixed rate (as the budgets of Finagle and Linkerd do);
 * - a prompt that is larger than the tokens purse can ever be: a purse that is half full pays for it and owes the rest.
 *
 * Invariant: extra ≤ reserve + max(share × calls, floor × time), and in tokens reserve + the same share + one prompt, over any
 * stretch that begins with full purses.
 */
import { assert, US_PER_S } from "../../core/index.ts";

export interface AttemptBudgetOptions {
  /** 0 to 1. */
  readonly share: number;
  /** Extra attempts that may be saved up, and that an idle process starts with times `fill`. */
  readonly callsMax: number;
  /** 0 to 1: how full the purses are at the start. */
  readonly fill: number;
  /** Extra attempts a minute that are earned however few calls come. Default 0. */
  readonly floorPerMinute?: number;
}

const US_PER_MINUTE = 60 * US_PER_S;
/** Weight of a call in the running mean. */
const MEAN_WEIGHT = 1 / 64;

export class AttemptBudget {
  readonly #share: number;
  readonly #callsMax: number;
  #calls: number;
  #tokens = 0;
  readonly #floorPerUs: number;
  /** Of a call; the first one is its own mean. */
  #meanTokens: number | undefined;
  #halfTokens = 0;
  #earnedUs: number | undefined;
  /** Extra attempts that were allowed, and those that were not. */
  spent = 0;
  refused = 0;
  spentTokens = 0;

  constructor(options: AttemptBudgetOptions) {
    const { share, callsMax, fill, floorPerMinute = 0 } = options;
    assert(share >= 0 && share <= 1 && fill >= 0 && fill <= 1, "shares are 0 to 1");
    assert(floorPerMinute >= 0, "a rate is no less than 0");
    this.#share = share;
    this.#callsMax = callsMax;
    this.#calls = callsMax * fill;
    this.#floorPerUs = floorPerMinute / US_PER_MINUTE;
  }

  /** Extra attempts that are saved up, by calls alone. */
  get calls(): number {
    return this.#calls;
  }

  /** A call has come in. */
  earn(tokens: number, nowUs: number): void {
    const share = Math.max(this.#share, this.#floorPerUs * (nowUs - (this.#earnedUs ?? nowUs)));
    this.#earnedUs = nowUs;
    if (this.#meanTokens === undefined) {
      this.#meanTokens = tokens;
      this.#tokens = this.#calls * tokens;
      this.#halfTokens = this.#tokensMax / 2;
    } else {
      // As the purse was before this call, which would not fill what it adds to its size.
      this.#halfTokens = this.#tokensMax / 2;
      this.#meanTokens += (tokens - this.#meanTokens) * MEAN_WEIGHT;
    }
    this.#calls = Math.min(this.#callsMax, this.#calls + share);
    this.#tokens = Math.min(this.#tokensMax, this.#tokens + share * tokens);
  }

  get #tokensMax(): number {
    return this.#callsMax * Math.max(this.#meanTokens ?? 0, 1);
  }

  /** @returns whether one more attempt of that size may begin; if so, it is paid for. */
  trySpend(tokens: number): boolean {
    const needed = Math.min(tokens, this.#halfTokens);
    // Comparing with a hair less than 1 keeps twenty payments of 0.05 worth one attempt.
    if (this.#calls < 1 - 1e-9 || this.#tokens < needed * (1 - 1e-9)) {
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
