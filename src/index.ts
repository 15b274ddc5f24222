/**
 * What `import "manx"` gives: errors, units, time and chance, histograms. It runs anywhere and loads in a few milliseconds;
 * everything else lies under subpaths such as `manx/stream`, `manx/engine`, `manx/gateway` and `manx/load`.
 */

/** Time and chance: write against `Clock` and `Random`, run in real or in simulated time. */
export { type Cancel, type Clock, Random, RealClock, realClock, SimClock } from "./clock/index.ts";
/** Errors: recognise one with `isManxError`, match on its `code`, show it with `renderError`. */
/** Units: time is whole microseconds inside, text such as `800ms` or `20/s` outside. */
export {
  type ErrorCode,
  type ErrorParts,
  formatUs,
  isManxError,
  ManxError,
  parseDurationUs,
  parseRatePerS,
  renderError,
  US_PER_MS,
  US_PER_S,
} from "./core/index.ts";
/** Numbers: histograms that merge, and quantiles that carry n and an interval. */
export {
  Histogram,
  type HistogramJson,
  histogramQuantile,
  isTrusted,
  type Quantile,
  sampleQuantile,
} from "./stats/index.ts";
export { VERSION } from "./version.ts";
