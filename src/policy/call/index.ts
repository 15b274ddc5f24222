/** One call over its attempts: deadline, time-outs, retry, hedge, failover. */
export { AttemptBudget, type AttemptBudgetOptions } from "./attempt-budget.ts";
export type { AttemptEnd, AttemptRecord, BeginCause } from "./attempt-record.ts";
export type { BreakerState } from "./breaker.ts";
export { Call } from "./call.ts";
export type { CallDecision, CallFailure } from "./call-decision.ts";
export { finalError, incompleteError, refusalHeaders } from "./call-error.ts";
export {
  type BreakerPolicy,
  CALL_POLICY,
  type CallPolicy,
  HEDGE_POLICY,
  type HedgePolicy,
  type PhaseTimeouts,
  type RetryPolicy,
  type StallPolicy,
} from "./call-policy.ts";
export type { CallRequest, CallRoute } from "./call-request.ts";
export type { AnswerSoFar } from "./continuation.ts";
export { type Failure, type FailureKind, isSilence, plainFailure } from "./failure.ts";
export { HedgeGovernor, type HedgeRefusal } from "./hedge-governor.ts";
export {
  lintCallPolicy,
  type ObservedCalls,
  type PolicyFault,
  type PolicyFinding,
  type TimeoutPolicy,
} from "./lint-call-policy.ts";
export { makeCallRoute } from "./make-call-route.ts";
export { type HeaderReader, readRetryAfterUs } from "./retry-after.ts";
export {
  forecastRetries,
  type RetryFault,
  type RetryForecast,
  type RetryOutcome,
  type RetryPlan,
} from "./retry-forecast.ts";
export { Target, type TargetOptions } from "./target.ts";
