/** Workloads, open-loop load, replay on the twin, and the result document. */

export { arrivalTimes } from "./arrivals.ts";
export {
  type DistributionLabel,
  METRIC_LABELS,
  type MetricName,
  toDistribution,
} from "./distribution.ts";
export {
  type Budgets,
  type Replay,
  type ReplayOptions,
  replay,
  toResultRun,
} from "./engine-replay.ts";
export { type OpenLoopOptions, runOpenLoop } from "./open-loop.ts";
export {
  type ResultComparison,
  type ResultComparisonRow,
  type ResultDistribution,
  type ResultDocument,
  type ResultGauge,
  type ResultRun,
  type ResultVerdict,
  resultJsonSchema,
  resultSchema,
  SCHEMA_VERSION,
} from "./result-document.ts";
export type { FailureClass, Job, Outcome, StreamTimes, Target } from "./target.ts";
export {
  readTrace,
  type Trace,
  type TraceOptions,
  type TraceProblem,
} from "./trace-reader.ts";
export type { WorkRequest } from "./work-request.ts";
