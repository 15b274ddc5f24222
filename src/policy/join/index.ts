/** Branches that run beside each other and come back together. */
export { type BranchReport, type BranchState, Join } from "./join.ts";
export type { JoinDecision, JoinEnding, JoinFailure } from "./join-decision.ts";
export type { JoinBranch, JoinPolicy, StragglerHedge } from "./join-policy.ts";
export { type StragglerOptions, StragglerPolicy } from "./straggler-policy.ts";
