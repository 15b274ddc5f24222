/** Which replica gets a request. */
export { BalancedAffinity, type BalancedAffinityOptions } from "./balanced-affinity.ts";
export { LeastLoad } from "./least-load.ts";
export { PrefixAffinity, type PrefixAffinityOptions } from "./prefix-affinity.ts";
export { RoundRobin } from "./round-robin.ts";
export type { RoutedRequest, Router } from "./router.ts";
export { type FleetFacts, ROUTERS, type RouterName } from "./routers.ts";
