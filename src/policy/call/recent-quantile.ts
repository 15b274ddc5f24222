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

  /**
   * @param share 0 to 1.
   * @returns the soonest instant, the upper end of a bucket, that at most this share of the samples is above; and the share
   * that is. (0, 0) without a sample.
   */
  tail(share: number): { atUs: number; share: number } {
    let above = this.#total;
    for (let i = 0; i < BUCKETS && this.count > 0; i += 1) {
      above -= this.#weights[i]!;
      // A hair, since the weights are summed up in two orders.
      if (above <= this.#total * (share + 1e-9)) {
        return { atUs: Math.ceil(upperUs(i)), share: Math.max(0, above / this.#total) };
      }
    }
    return { atUs: 0, share: 0 };
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

function upperUs(bucket: number): number {
  return LOWEST_US * 2 ** ((bucket + 1) / BUCKETS_PER_OCTAVE);
}

function middleUs(bucket: number): number {
  return LOWEST_US * 2 ** ((bucket + 0.5) / BUCKETS_PER_OCTAVE);
}
