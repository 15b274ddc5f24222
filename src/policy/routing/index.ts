/** Which replica gets a request. */
export { LeastLoad } from "./least-load.ts";
export { PrefixAffinity, type PrefixAffinityOptions } from "./prefix-affinity.ts";
export { RoundRobin } from "./round-robin.ts";
export type { RoutedRequest, Router } from "./router.ts";
export { ROUTERS, type RouterName } from "./routers.ts";
