/** A quantile of a Prometheus histogram: where in its bucket nobody knows, so it is put there in proportion. */
export interface BucketQuantile {
  /** In seconds; infinite above the last bound; NaN of nothing. */
  readonly valueS: number;
  readonly n: number;
  /** Values above its rank: below ten it says little. */
  readonly beyond: number;
}

/** @param buckets upper bound in seconds → how many are not above it; any order. */
export function bucketQuantile(q: number, buckets: ReadonlyMap<number, number>): BucketQuantile {
  const bounds = [...buckets].sort(([a], [b]) => a - b);
  const n = bounds.at(-1)?.[1] ?? 0;
  const rank = q * n;
  const beyond = Math.floor(n - rank + 1e-9);
  if (n === 0) return { valueS: Number.NaN, n, beyond };
  let [below, belowCount] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count < rank) {
      [below, belowCount] = [bound, count];
      continue;
    }
    if (bound === Number.POSITIVE_INFINITY) return { valueS: bound, n, beyond };
    const inBucket = count - belowCount;
    const share = inBucket === 0 ? 1 : (rank - belowCount) / inBucket;
    return { valueS: below + (bound - below) * share, n, beyond };
  }
  return { valueS: Number.POSITIVE_INFINITY, n, beyond };
}
