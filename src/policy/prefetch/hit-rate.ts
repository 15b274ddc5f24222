/**
 * How often guesses come true, with old ones fading, and how sure that is: Wilson's score interval (1927), which holds for
 * few guesses and near 0 and 1, where the normal one does not.
 */
import { assert } from "../../core/index.ts";

/** 90 % between the two ends, so 5 % beyond each: a decision looks at one end. */
const Z = 1.645;

export interface HitInterval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Guesses that it rests on. */
  readonly n: number;
}

export class HitRate {
  readonly #keep: number;
  #tries: number;
  #hits: number;

  /** @param halfLife guesses after which one weighs half. @param prior guesses that were made elsewhere. */
  constructor(halfLife: number, prior = { tries: 0, hits: 0 }) {
    assert(halfLife >= 1, "a half-life is at least one guess");
    this.#keep = 0.5 ** (1 / halfLife);
    this.#tries = prior.tries;
    this.#hits = prior.hits;
  }

  note(isHit: boolean): void {
    this.#tries = this.#tries * this.#keep + 1;
    this.#hits = this.#hits * this.#keep + (isHit ? 1 : 0);
  }

  get interval(): HitInterval {
    return wilson(this.#hits, this.#tries);
  }
}

/** @returns 0 to 1 without a guess. */
export function wilson(hits: number, n: number): HitInterval {
  if (n <= 0) return { value: Number.NaN, low: 0, high: 1, n: 0 };
  const p = hits / n;
  const square = Z * Z;
  const centre = (p + square / (2 * n)) / (1 + square / n);
  const half = (Z / (1 + square / n)) * Math.sqrt((p * (1 - p)) / n + square / (4 * n * n));
  return { value: p, low: Math.max(0, centre - half), high: Math.min(1, centre + half), n };
}
