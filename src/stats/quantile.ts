/**
 * Quantiles as order statistics, never without n, each with a distribution-free interval. The q-quantile of n values is
 * the one of rank ⌈q·n⌉ (nearest rank). The interval runs between two order statistics whose ranks hold the true quantile
 * with at least the stated confidence, since the number of values below it is Binomial(n, q) whatever the distribution.
 */
import { assert } from "../core/index.ts";
import type { Histogram } from "./histogram.ts";

export interface Quantile {
  readonly q: number;
  readonly value: number;
  /** Ends of the interval; null where n cannot carry one at the confidence asked for. */
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
  /** Values beyond this rank. Below ten the figure is drawn grey: it says more about luck than about the tail. */
  readonly beyond: number;
}

/** Fewest values beyond a percentile for it to be shown in full. */
export const BEYOND_MIN = 10;
export const CONFIDENCE = 0.95;

/** Rank of the q-quantile of n values, 1 to n. The small shift undoes q·n = 95.00000000000001. */
export function quantileRank(q: number, n: number): number {
  assert(q > 0 && q <= 1, "a quantile lies in (0, 1]");
  return Math.min(n, Math.max(1, Math.ceil(q * n - 1e-9)));
}

export interface RankInterval {
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * Ranks l < u such that P(X(l) ≤ quantile < X(u)) ≥ confidence: the shortest tails with at most half of the error each.
 * @returns null for an end that does not exist, as the upper end of p99.9 of 100 values.
 */
export function intervalRanks(q: number, n: number, confidence = CONFIDENCE): RankInterval {
  if (n === 0 || q >= 1) return { low: null, high: null };
  const tail = (1 - confidence) / 2;
  // l is the largest rank with P(B < l) ≤ tail, u the smallest with P(B ≥ u) ≤ tail, B ~ Binomial(n, q).
  const low = largestRankBelow(q, n, tail);
  const mirrored = largestRankBelow(1 - q, n, tail);
  return { low: low === 0 ? null : low, high: mirrored === 0 ? null : n + 1 - mirrored };
}

/** Largest l ≥ 0 with P(Binomial(n, q) ≤ l − 1) ≤ tail; walks up from far below the mean, where nothing is lost. */
function largestRankBelow(q: number, n: number, tail: number): number {
  const mean = n * q;
  const start = Math.max(0, Math.floor(mean - 12 * Math.sqrt(mean * (1 - q)) - 12));
  let mass = Math.exp(
    logFactorial(n) -
      logFactorial(start) -
      logFactorial(n - start) +
      start * Math.log(q) +
      (n - start) * Math.log1p(-q),
  );
  let below = 0;
  for (let k = start; k < n; k += 1) {
    below += mass;
    if (below > tail) return k;
    mass *= ((n - k) / (k + 1)) * (q / (1 - q));
  }
  return n;
}

/** Stirling's series; relative error below 1e-10 from 10 on, exact products below. */
function logFactorial(k: number): number {
  if (k < 10) {
    let product = 1;
    for (let i = 2; i <= k; i += 1) product *= i;
    return Math.log(product);
  }
  const square = k * k;
  return (
    k * Math.log(k) -
    k +
    0.5 * Math.log(2 * Math.PI * k) +
    1 / (12 * k) -
    1 / (360 * k * square) +
    1 / (1260 * k * square * square)
  );
}

function quantileFrom(q: number, n: number, atRank: (rank: number) => number): Quantile {
  if (n === 0) return { q, value: Number.NaN, low: null, high: null, n, beyond: 0 };
  const rank = quantileRank(q, n);
  const ranks = intervalRanks(q, n);
  return {
    q,
    value: atRank(rank),
    low: ranks.low === null ? null : atRank(ranks.low),
    high: ranks.high === null ? null : atRank(ranks.high),
    n,
    beyond: n - rank,
  };
}

export function histogramQuantile(histogram: Histogram, q: number): Quantile {
  return quantileFrom(q, histogram.n, (rank) => histogram.atRank(rank));
}

/** @param sorted ascending; not checked. */
export function sampleQuantile(sorted: ArrayLike<number>, q: number): Quantile {
  return quantileFrom(q, sorted.length, (rank) => sorted[rank - 1]!);
}

export function isTrusted(quantile: Quantile): boolean {
  return quantile.beyond >= BEYOND_MIN;
}
