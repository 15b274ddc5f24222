/**
 * What `import "manx"` gives: errors, units, time and chance, histograms, and the reading of model streams. It runs
 * anywhere and loads in a few milliseconds; what needs Node lies under subpaths such as `manx/gateway` and `manx/load`.
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
/** Model streams: bytes to canonical events, events to TTFT, ITL, TPOT and stalls. */
export {
  createDecoder,
  type StreamDecoder,
  type StreamEvent,
  type StreamFormat,
  type StreamMetrics,
  StreamTimeline,
} from "./stream/index.ts";
export { VERSION } from "./version.ts";
