/** Limits and breakers that several gateways share over Redis or Valkey. */
export type { SharedLimit } from "./local-share.ts";
export type { SharedBreakers } from "./shared-breakers.ts";
export { type Denied, SharedGate } from "./shared-gate.ts";
export type { Claim, Grant, Lease, SharedLimits, SharedLimitsFacts } from "./shared-limits.ts";
export { SharedState, type SharedStateFacts, type SharedStateOptions } from "./shared-state.ts";
export type { StateStoreFacts } from "./state-store.ts";
export { type SharedFacts, StateWatch, type StateWatchFacts } from "./state-watch.ts";
