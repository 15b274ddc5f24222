/**
 * Quantiles of durations that forget: each new sample weighs a little more than the one before, so that old ones fade
 * without being touched. Buckets a 2^(1/8) apart hold any duration from 64 µs to 19 hours within 4.5 % at 240 numbers.
 */
import { assert } from "../../core/index.ts";

const BUCKETS_PER_OCTAVE = 8;
const OCTAVES = 30;
const LOWEST_US = 64;
const BUCKETS = BUCKETS_PER_OCTAVE * OCTAVES;
const RESCALE_AT = 1e12;

export class RecentQuantile {
  readonly #weights = new Float64Array(BUCKETS);
  readonly #growth: number;
  #next = 1;
  #total = 0;
  /** Samples ever. */
  count = 0;

  /** @param halfLife samples after which one weighs half. */
  constructor(halfLife: number) {
    assert(halfLife >= 1, "a half-life is at least one sample");
    this.#growth = 2 ** (1 / halfLife);
  }

  record(durationUs: number): void {
    this.#weights[bucketOf(durationUs)]! += this.#next;
    this.#total += this.#next;
    this.#next *= this.#growth;
    this.count += 1;
    if (this.#next > RESCALE_AT) this.#rescale();
  }

  /** @param share 0 to 1. @returns µs, the middle of the bucket; NaN without a sample. */
  quantileUs(share: number): number {
    if (this.count === 0) return Number.NaN;
    const wanted = this.#total * share;
    let seen = 0;
    for (let i = 0; i < BUCKETS; i += 1) {
      seen += this.#weights[i]!;
      if (seen >= wanted && seen > 0) return middleUs(i);
    }
    return middleUs(BUCKETS - 1);
  }

  #rescale(): void {
    this.#total = 0;
    for (let i = 0; i < BUCKETS; i += 1) {
      this.#weights[i]! /= this.#next;
      this.#total += this.#weights[i]!;
    }
    this.#next = 1;
  }
}

function bucketOf(durationUs: number): number {
  const at = Math.floor(
    Math.log2(Math.max(durationUs, LOWEST_US) / LOWEST_US) * BUCKETS_PER_OCTAVE,
  );
  return Math.min(at, BUCKETS - 1);
}

function middleUs(bucket: number): number {
  return LOWEST_US * 2 ** ((bucket + 0.5) / BUCKETS_PER_OCTAVE);
}
