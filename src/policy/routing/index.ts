/** Which replica gets a request: simple routers, and one that knows prefixes, load and health. */
export { BalancedAffinity, type BalancedAffinityOptions } from "./balanced-affinity.ts";
export { LeastLoad } from "./least-load.ts";
export type { EngineReport } from "./load-book.ts";
export type { Placement } from "./placement.ts";
export { PrefixAffinity, type PrefixAffinityOptions } from "./prefix-affinity.ts";
export { PromptBlocks } from "./prompt-blocks.ts";
export type { HealthOptions, ProbeResult, ReplicaOutcome } from "./replica-health.ts";
export {
  type PlacedPair,
  type PlacedRequest,
  type ReplicaRole,
  ReplicaRouter,
  type ReplicaRouterOptions,
  type ReplicaSnapshot,
} from "./replica-router.ts";
export { RoundRobin } from "./round-robin.ts";
export type { RoutedRequest, Router } from "./router.ts";
export { type FleetFacts, ROUTER_REPLICAS_MAX, ROUTERS, type RouterName } from "./routers.ts";
