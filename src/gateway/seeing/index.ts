/** What the gateway shows of itself: identities, records, metrics, the access log, traces. */
export type { AttemptMetrics } from "./attempt-metrics.ts";
export { AttemptsSeen } from "./attempts-seen.ts";
export type { BucketQuantile } from "./bucket-quantile.ts";
export {
  addRequestId,
  type CallIdentity,
  markAttempt,
} from "./call-identity.ts";
export { CallNotes, NONE } from "./call-notes.ts";
export type { AttemptSeen, CallRecord } from "./call-record.ts";
export { msFixed } from "./ms-text.ts";
export { Seeing } from "./seeing.ts";
export { type Look, look, type TopRow, type TopSnapshot, takeTop } from "./top-snapshot.ts";
