/** Mergeable histograms, and quantiles with n and an interval. */
export { Histogram, type HistogramJson } from "./histogram.ts";
export {
  BEYOND_MIN,
  CONFIDENCE,
  histogramQuantile,
  intervalRanks,
  isTrusted,
  type Quantile,
  quantileRank,
  type RankInterval,
  sampleQuantile,
} from "./quantile.ts";
