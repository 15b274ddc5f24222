/**
 * A log-linear histogram of non-negative whole numbers (microseconds, tokens, bytes). Each power of two is cut into 1,024
 * equal buckets, so a value read back is within 1/2,048 (0.05 %) of one that was recorded; below 2,048 it is exact.
 * Recording is a few integer operations, merging is addition, and the size follows the largest value, not the count.
 * The idea is HdrHistogram's (Gil Tene); why not that library: docs/decisions/2026-11-29-histogram.md.
 */
import { assert } from "../core/index.ts";

const SUB_BITS = 10;
const SUB_COUNT = 1 << SUB_BITS;
/** Above 2^31 the bit operations of a record would overflow; those rare values take the logarithm's path. */
const INT_LIMIT = 2 ** 31;
/** 2^53 µs lie in octave 53 − SUB_BITS. */
const LONGEST = (53 - SUB_BITS + 1) * SUB_COUNT;

export interface HistogramJson {
  /** Sub-bucket bits; a reader refuses a figure that it does not know. */
  readonly subBits: number;
  readonly n: number;
  readonly sum: number;
  readonly min: number | null;
  readonly max: number | null;
  /** Pairs in ascending order: distance to the index of the pair before (first: to 0), count. Short, as most are neighbours. */
  readonly buckets: readonly number[];
}

/** Index of the bucket of `value`. */
function bucketOf(value: number): number {
  if (value < 2 * SUB_COUNT) return value;
  if (value < INT_LIMIT) {
    const shift = 31 - SUB_BITS - Math.clz32(value);
    return shift * SUB_COUNT + (value >>> shift);
  }
  const shift = Math.floor(Math.log2(value)) - SUB_BITS;
  return shift * SUB_COUNT + Math.floor(value / 2 ** shift);
}

/** Middle of a bucket: the value that stands for everything in it. */
function middleOf(bucket: number): number {
  if (bucket < 2 * SUB_COUNT) return bucket;
  const shift = Math.floor(bucket / SUB_COUNT) - 1;
  const low = (bucket - shift * SUB_COUNT) * 2 ** shift;
  return low + (2 ** shift - 1) / 2;
}

export class Histogram {
  #counts = new Float64Array(2 * SUB_COUNT);
  #n = 0;
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  get n(): number {
    return this.#n;
  }

  get sum(): number {
    return this.#sum;
  }

  /** NaN if empty, as for `min` and `max`. */
  get mean(): number {
    return this.#n === 0 ? Number.NaN : this.#sum / this.#n;
  }

  get min(): number {
    return this.#n === 0 ? Number.NaN : this.#min;
  }

  get max(): number {
    return this.#n === 0 ? Number.NaN : this.#max;
  }

  /** @param value 0 to 2^53 − 1; rounded to a whole number. Anything else is a fault of the caller. */
  record(value: number, count = 1): void {
    const whole = Math.round(value);
    if (!(whole >= 0 && whole <= Number.MAX_SAFE_INTEGER)) {
      assert(false, `a histogram takes 0 to 2^53 - 1, got ${value}`);
    }
    const bucket = bucketOf(whole);
    if (bucket >= this.#counts.length) this.#grow(bucket);
    this.#counts[bucket]! += count;
    this.#n += count;
    this.#sum += whole * count;
    if (whole < this.#min) this.#min = whole;
    if (whole > this.#max) this.#max = whole;
  }

  /** The value at an order statistic. @param rank 1 (smallest) to n. Min and max are exact. */
  atRank(rank: number): number {
    if (this.#n === 0) return Number.NaN;
    if (rank <= 1) return this.#min;
    if (rank >= this.#n) return this.#max;
    let seen = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) {
      seen += this.#counts[bucket]!;
      if (seen >= rank) return Math.min(Math.max(middleOf(bucket), this.#min), this.#max);
    }
    return this.#max;
  }

  /** Share of values at or below `limit`, to within the bucket that holds it; NaN if empty. */
  shareAtMost(limit: number): number {
    if (this.#n === 0) return Number.NaN;
    if (limit >= this.#max) return 1;
    if (limit < this.#min) return 0;
    const last = Math.min(bucketOf(Math.floor(limit)), this.#counts.length - 1);
    let seen = 0;
    for (let bucket = 0; bucket <= last; bucket += 1) seen += this.#counts[bucket]!;
    return seen / this.#n;
  }

  merge(other: Histogram): void {
    if (other.#counts.length > this.#counts.length) this.#grow(other.#counts.length - 1);
    for (let bucket = 0; bucket < other.#counts.length; bucket += 1) {
      this.#counts[bucket]! += other.#counts[bucket]!;
    }
    this.#n += other.#n;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  toJSON(): HistogramJson {
    const buckets: number[] = [];
    let before = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) {
      const count = this.#counts[bucket]!;
      if (count === 0) continue;
      buckets.push(bucket - before, count);
      before = bucket;
    }
    const empty = this.#n === 0;
    return {
      subBits: SUB_BITS,
      n: this.#n,
      sum: this.#sum,
      min: empty ? null : this.#min,
      max: empty ? null : this.#max,
      buckets,
    };
  }

  static fromJSON(json: HistogramJson): Histogram {
    assert(
      json.subBits === SUB_BITS,
      `histogram has ${SUB_BITS} sub-bucket bits, got ${json.subBits}`,
    );
    const histogram = new Histogram();
    let bucket = 0;
    for (let i = 0; i + 1 < json.buckets.length; i += 2) {
      bucket += json.buckets[i]!;
      assert(bucket >= 0 && bucket < LONGEST, "a bucket index is in range");
      if (bucket >= histogram.#counts.length) histogram.#grow(bucket);
      histogram.#counts[bucket]! += json.buckets[i + 1]!;
    }
    histogram.#n = json.n;
    histogram.#sum = json.sum;
    histogram.#min = json.min ?? Number.POSITIVE_INFINITY;
    histogram.#max = json.max ?? Number.NEGATIVE_INFINITY;
    return histogram;
  }

  #grow(bucket: number): void {
    const octaves = Math.floor(bucket / SUB_COUNT) + 1;
    const grown = new Float64Array(octaves * SUB_COUNT);
    grown.set(this.#counts);
    this.#counts = grown;
  }
}
