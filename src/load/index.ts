/** Workloads, open-loop load, replay on the twin, and the result document. */
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
export {
  readTrace,
  type Trace,
  type TraceOptions,
  type TraceProblem,
} from "./trace-reader.ts";
export type { WorkRequest } from "./work-request.ts";
