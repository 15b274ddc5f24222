/**
 * Requests like those that a window of metrics counted: as many a second, as long on average and spread over the same
 * buckets. When each came and which prompt had which answer a page of metrics does not say: arrivals are taken as Poisson,
 * lengths as independent, and within a bucket as even on a log scale.
 */
import { Random } from "../../clock/index.ts";
import type { PageHistogram } from "./metrics-page.ts";
import type { MetricsWindow } from "./metrics-window.ts";
import type { LoggedRequest } from "./request-log.ts";

const REQUESTS_MIN = 300;
const REQUESTS_MAX = 1_500;
/** The engine was at work before the window: so many of the first requests only make the queue. */
const WARM_UP_SHARE = 0.2;
const TOKENS_MAX = 1_000_000;

export interface WindowRequests {
  readonly requests: readonly LoggedRequest[];
  /** Those from here on stand for the window's. */
  readonly from: number;
}

export function windowRequests(window: MetricsWindow, seed: number): WindowRequests {
  const observed = Math.min(REQUESTS_MAX, Math.max(REQUESTS_MIN, Math.round(window.requests)));
  const count = Math.ceil(observed / (1 - WARM_UP_SHARE));
  const prompts = lengths(window.promptTokens, window.promptTokensMean, count, seed, "prompts");
  const outputs = lengths(window.outputTokens, window.outputTokensMean, count, seed, "outputs");
  const random = new Random(seed, "arrivals");
  const gapUs = (window.seconds * 1e6) / window.requests;
  let atUs = 0;
  const requests = prompts.map((promptTokens, i) => {
    if (i > 0) atUs += random.exponential(gapUs);
    // The times are never looked at: what was measured is the window's sums.
    const times = { ttftUs: 1, e2eUs: 1 };
    return {
      row: i + 1,
      atUs: Math.round(atUs),
      promptTokens,
      outputTokens: outputs[i]!,
      ...times,
    };
  });
  return { requests, from: count - observed };
}

/** Drawn from the buckets, then scaled to the exact mean; all alike where there are no buckets. */
function lengths(
  histogram: PageHistogram | undefined,
  mean: number,
  count: number,
  seed: number,
  purpose: string,
): number[] {
  const whole = (tokens: number): number =>
    Math.min(TOKENS_MAX, Math.max(1, Math.round(Number.isFinite(tokens) ? tokens : 1)));
  if (histogram === undefined || histogram.count < 1) {
    return Array.from({ length: count }, () => whole(mean));
  }
  const random = new Random(seed, purpose);
  const drawn = Array.from({ length: count }, () =>
    bucketQuantile(histogram, random.next(), "log"),
  );
  const exact = Number.isFinite(histogram.sum) ? histogram.sum / histogram.count : mean;
  const scale = exact / (drawn.reduce((sum, one) => sum + one, 0) / count);
  return drawn.map((one) => whole(one * (Number.isFinite(scale) ? scale : 1)));
}

/** Between the ends of the bucket that holds the quantile: evenly, or evenly on a log scale. NaN of nothing. */
export function bucketQuantile(
  { ends, counts, count }: PageHistogram,
  q: number,
  scale: "even" | "log" = "even",
): number {
  const rank = q * count;
  const bucket = counts.findIndex((one) => one >= rank && one > 0);
  if (bucket < 0) return Number.NaN;
  const high = ends[bucket]!;
  const low = bucket === 0 ? 0 : ends[bucket - 1]!;
  // Nothing is known beyond the last end but that it was passed.
  if (!Number.isFinite(high)) return low;
  const before = bucket === 0 ? 0 : counts[bucket - 1]!;
  const share = counts[bucket]! === before ? 1 : (rank - before) / (counts[bucket]! - before);
  if (scale === "even" || low <= 0) return low + share * (high - low);
  return low * (high / low) ** share;
}
