import { LeastLoad } from "./least-load.ts";
import { PrefixAffinity } from "./prefix-affinity.ts";
import { RoundRobin } from "./round-robin.ts";
import type { Router } from "./router.ts";

/** Routers by name, made new for each use since they remember. */
export const ROUTERS: Readonly<Record<"round-robin" | "least-load" | "prefix", () => Router>> = {
  "round-robin": () => new RoundRobin(),
  "least-load": () => new LeastLoad(),
  prefix: () => new PrefixAffinity(),
};

export type RouterName = keyof typeof ROUTERS;
