/**
 * A rate with a burst, as a bucket that may be overdrawn: whoever is in credit may take any amount and waits until the
 * debt is paid off. So a large request needs no more luck than a small one, and nothing has to be split. In any window of
 * W seconds at most burst + rate · W + one request's amount is taken.
 *
 * Kept like the virtual schedule of ATM's generic cell rate algorithm (ITU-T I.371): one number, the instant at which
 * the bucket will be full, and no timer.
 */
import { assert, US_PER_S } from "../../core/index.ts";

export class TokenBucket {
  readonly burst: number;
  readonly #usPerToken: number;
  /** When it is full again if nothing more is taken; in the past if it is full. */
  #fullUs = Number.NEGATIVE_INFINITY;

  /** @param perS tokens a second. @param burst most tokens saved up, at least 1. */
  constructor(perS: number, burst: number) {
    assert(perS > 0 && burst >= 1, "a bucket has a rate and holds a token");
    this.burst = burst;
    this.#usPerToken = US_PER_S / perS;
  }

  /** Tokens in it; negative for a debt. */
  level(nowUs: number): number {
    return this.burst - Math.max(0, this.#fullUs - nowUs) / this.#usPerToken;
  }

  /** When it will be in credit, if `ahead` tokens more are taken first; `nowUs` if it is already. Whole µs. */
  readyUs(nowUs: number, ahead = 0): number {
    const fullUs = Math.max(this.#fullUs, nowUs) + ahead * this.#usPerToken;
    // A whole token of credit, not none: a level of exactly 0 could be rounded either way.
    return Math.max(nowUs, Math.ceil(fullUs - (this.burst - 1) * this.#usPerToken));
  }

  take(tokens: number, nowUs: number): void {
    this.#fullUs = Math.max(this.#fullUs, nowUs) + tokens * this.#usPerToken;
  }

  /** Corrects an earlier `take`; negative tokens give back. It never holds more than its burst. */
  settle(tokens: number, nowUs: number): void {
    if (tokens >= 0) this.take(tokens, nowUs);
    else this.#fullUs += tokens * this.#usPerToken;
  }
}
