/** Calls of models in the agent's own process: a `fetch` for any SDK. */

/** What a policy of retries will do, told before it does it. */
export {
  lintCallPolicy,
  type ObservedCalls,
  type PolicyFault,
  type PolicyFinding,
  type TimeoutPolicy,
} from "../../policy/index.ts";
export type { ModelCallEvent } from "./call-book.ts";
export type { ModelTarget } from "./call-place.ts";
export type { AttemptCost, CallOutcome, ModelCallRecord, SeenAttempt } from "./call-record.ts";
export type { ModelFetchStats } from "./fetch-stats.ts";
export { type ModelFetch, type ModelFetchOptions, modelFetch } from "./model-fetch.ts";
export { type CallPolicyOptions, callPolicyOf } from "./policy-options.ts";
