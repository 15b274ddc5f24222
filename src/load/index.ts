/** Workloads, open-loop load, replay on the twin, and the result document. */
export { type ArrivalOptions, arrivalTimes, describeArrivals } from "./arrivals.ts";
export { parseBudgets, type RequestBudgets } from "./budgets.ts";
export { type Calibration, calibrate } from "./calibrate.ts";
export type { LoadProgress } from "./collector.ts";
export { METRIC_LABELS, type MetricName, toDistribution } from "./distribution.ts";
export { type ReplayOptions, replay } from "./engine-replay.ts";
export { hostFacts } from "./host-facts.ts";
export { LiveTarget, type LiveTargetOptions } from "./live-target.ts";
export { makeDocument } from "./load-document.ts";
export { type OpenLoopOptions, runOpenLoop } from "./open-loop.ts";
export { approximateTokens } from "./prompt-text.ts";
export type { Budgets, Replay } from "./replay-collector.ts";
export { toResultRun } from "./replay-run.ts";
export { type ApiName, loadApi } from "./request-body.ts";
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
export { servedModel } from "./served-model.ts";
export type { FailureClass, Job, Outcome, StreamTimes, Target } from "./target.ts";
export { readTrace, type Trace, type TraceOptions } from "./trace-reader.ts";
export type { WorkRequest } from "./work-request.ts";
export { generateWorkload } from "./workload.ts";
