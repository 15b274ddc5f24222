/** Advice from replay: what to change, and what it would do. */
export { engineFlags } from "./engine-flags.ts";
export { type EnginePlan, type LosingLever, type PlanOptions, planEngine } from "./engine-plan.ts";
export * from "./fit/index.ts";
export {
  type PlanCandidate,
  type PlanLimits,
  planHead,
} from "./plan-candidate.ts";
export { type PoolCandidate, type PoolPlan, type PoolPlanOptions, planPools } from "./pool-plan.ts";
