import { BalancedAffinity } from "./balanced-affinity.ts";
import { LeastLoad } from "./least-load.ts";
import { PrefixAffinity } from "./prefix-affinity.ts";
import { RoundRobin } from "./round-robin.ts";
import type { Router } from "./router.ts";

export type RouterName = "round-robin" | "least-load" | "prefix" | "balanced";

/** What is known of a fleet before its first request. */
export interface FleetFacts {
  /** KV of one replica. */
  readonly cacheTokens?: number;
}

/** Routers by name, made new for each use since they remember. */
export const ROUTERS: Readonly<Record<RouterName, (facts?: FleetFacts) => Router>> = {
  "round-robin": () => new RoundRobin(),
  "least-load": () => new LeastLoad(),
  prefix: () => new PrefixAffinity(),
  balanced: ({ cacheTokens } = {}) =>
    new BalancedAffinity({ ...(cacheTokens !== undefined && { cacheTokens }) }),
};

/** How many replicas each knows. */
export const ROUTER_REPLICAS_MAX: Readonly<Record<RouterName, number>> = {
  "round-robin": Number.POSITIVE_INFINITY,
  "least-load": Number.POSITIVE_INFINITY,
  prefix: 31,
  balanced: 256,
};
