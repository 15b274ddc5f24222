/** The twin: scheduler, KV memory, cost model, and the driver that runs them in virtual or real time. */
export { Batch } from "./batch.ts";
export { type BuildOptions, buildEngine } from "./build-engine.ts";
export { checkConfig, kvTokens } from "./config-check.ts";
export { ContinuousBatcher } from "./continuous-batcher.ts";
export { type ContinuousOptions, MIXINGS, type Mixing } from "./continuous-options.ts";
export {
  COST_KINDS,
  type CostChoice,
  type CostKind,
  costOf,
  describeCost,
  rooflineOf,
} from "./cost-choice.ts";
export { type AttentionKernel, type CostModel, RooflineCost } from "./cost-model.ts";
export * from "./data-sheets.ts";
export * from "./disaggregated/index.ts";
export { Engine, type EngineOptions, type EngineTotals } from "./engine.ts";
export * from "./engine-config.ts";
export * from "./fitted-cost.ts";
export * from "./fitted-cost-text.ts";
export { FITTED_FIELDS, type FittedField, fittedEngineOf } from "./fitted-engine.ts";
export * from "./fleet/index.ts";
export * from "./interference/index.ts";
export { KernelTableCost, type KernelTableText } from "./kernel-table-cost.ts";
export { ContiguousKv, type KvMemory, PagedKv } from "./kv-memory.ts";
export type { TableText } from "./measured-table.ts";
export * from "./order/index.ts";
export * from "./parallel/index.ts";
export { PrefixKv } from "./prefix-kv.ts";
export { type LayerProfileText, ProfileCost, type ProfileCostOptions } from "./profile-cost.ts";
export { RadixKv } from "./radix-kv.ts";
export { EngineRequest, type RequestShape, type RequestState } from "./request.ts";
export { type EngineSink, type PrefixCounters, type Scheduler, WAITING_MAX } from "./scheduler.ts";
export { buildOrder, SCHEDULING_DEFAULTS, type SchedulingLevers } from "./scheduling-levers.ts";
export * from "./speculation/index.ts";
export { StaticBatcher, type StaticOptions } from "./static-batcher.ts";
export * from "./swap/index.ts";
export * from "./vidur/index.ts";
