/**
 * Bucket ends as vLLM V1 has them, so that dashboards, alerts and advisors made for it read the twin unchanged. They are
 * coarse: TPOT below 10 ms and queueing below 0.3 s fall into the first bucket, and a quantile there is interpolation.
 */
export const TTFT_BUCKETS_S: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];

export const TOKEN_TIME_BUCKETS_S: readonly number[] = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];

export const REQUEST_TIME_BUCKETS_S: readonly number[] = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];

export const STEP_TOKENS_BUCKETS: readonly number[] = [
  1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
];

/** Manx's own: how late a timer ran. A host timer has a grain of a millisecond. */
export const LAG_BUCKETS_S: readonly number[] = [
  0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1,
];

/** 1, 2, 5, 10, 20, 50, … up to the context's length. */
export function lengthBuckets(contextMax: number): number[] {
  const ends: number[] = [];
  for (let decade = 1; decade <= contextMax; decade *= 10) {
    for (const step of [1, 2, 5]) if (step * decade <= contextMax) ends.push(step * decade);
  }
  return ends;
}
