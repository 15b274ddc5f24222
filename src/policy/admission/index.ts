/** Admission in front of an upstream: lanes by size, classes with age, fair shares, limits, adaptive concurrency. */
export { AdaptiveLimit, type AdaptiveLimitOptions, DEFAULT_ADAPTIVE } from "./adaptive-limit.ts";
export { Admission } from "./admission.ts";
export {
  ADMISSION_DEFAULTS,
  type AdmissionOptions,
  type FixedLimitOptions,
  type LaneOptions,
  type TenantLimits,
} from "./admission-options.ts";
export {
  type AdmissionRequest,
  type Admitted,
  type Decision,
  type Outcome,
  type Queued,
  REFUSAL_REASONS,
  type RefusalReason,
  type Refused,
} from "./decision.ts";
export { SizePredictor, type SizePredictorOptions } from "./size-predictor.ts";
export type { AdmissionSnapshot, LaneSnapshot, TenantSnapshot } from "./snapshot.ts";
export { TokenBucket } from "./token-bucket.ts";
