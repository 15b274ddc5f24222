/** Advice from replay: what to change, and what it would do. */
export {
  describePlan,
  type EnginePlan,
  type PlanCandidate,
  type PlanLimits,
  type PlanOptions,
  planEngine,
  vllmFlags,
} from "./engine-plan.ts";
export * from "./fit/index.ts";
export { type PoolCandidate, type PoolPlan, type PoolPlanOptions, planPools } from "./pool-plan.ts";
