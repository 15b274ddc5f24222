/**
 * A workload against the twin in virtual time: open loop, every request at its intended start, as exact as the cost model
 * and repeatable to the microsecond. With several replicas requests go round robin, the way a plain load balancer sends
 * them. Tokens are stamped by the engine, so there is no network in these figures.
 */
import { SimClock } from "../clock/index.ts";
import { assert, lookUp, ManxError } from "../core/index.ts";
import {
  buildServing,
  type CostModel,
  checkFleet,
  type EngineConfig,
  type Fleet,
  type Pools,
} from "../engine/index.ts";
import { ROUTER_REPLICAS_MAX, ROUTERS, type Router, type RouterName } from "../policy/index.ts";
import { type Budgets, type Replay, ReplayCollector } from "./replay-collector.ts";
import type { WorkRequest } from "./work-request.ts";

export interface ReplayOptions {
  readonly name: string;
  readonly requests: readonly WorkRequest[];
  /** Where the requests come from, for the conditions: "Azure LLM 2023 conversation, one hour". */
  readonly workload: string;
  readonly arrivals: string;
  readonly config: EngineConfig;
  /** Engines of this config; default 1. */
  readonly replicas?: number;
  /** How requests are spread over the replicas; default round robin, as a plain load balancer does it. */
  readonly routing?: RouterName;
  /** In place of one by name, for a comparison of its settings. */
  readonly router?: Router;
  /** Divides all intended starts: 2 offers the same requests at twice the rate. Default 1. */
  readonly speed?: number;
  readonly seed: number | null;
  readonly cost?: CostModel;
  /** What goes wrong with the replicas; nothing by default. */
  readonly fleet?: Fleet;
  /** In place of replicas. Requests are routed over the prefill engines. */
  readonly pools?: Pools;
}

/** Runs the workload to the end of its last response. */
export function replay(options: ReplayOptions, budgets?: Budgets): Replay {
  const clock = new SimClock();
  const { fleet, config, cost } = options;
  const pools = options.pools ?? config.pools;
  const replicas = pools?.prefill ?? options.replicas ?? 1;
  const outsideUs = cost === undefined ? requestUsOf(config) : 0;
  const collect = new ReplayCollector(budgets, replicas, outsideUs);
  if (fleet !== undefined) checkFleet(fleet, replicas);
  if (fleet !== undefined && pools !== undefined) refuseBoth();
  const serving = buildServing({
    clock,
    sink: collect,
    config,
    replicas,
    seed: options.seed ?? 0,
    ...(pools !== undefined && { pools }),
    ...(fleet !== undefined && { fleet }),
    ...(cost !== undefined && { cost }),
  });
  const openTokens = serving.openTokens ?? collect.openTokens;
  // Before a prefill pool, all that is open is to be computed yet.
  const pendingTokens = serving.openTokens === undefined ? collect.pendingTokens : undefined;
  const cacheTokens = serving.entries[0]!.scheduler.kv.totalTokens;
  const { routing = "round-robin" } = options;
  const router = options.router ?? routerFor(routing, replicas)({ cacheTokens });
  const speed = options.speed ?? 1;
  assert(speed > 0, "a replay has a speed above zero");
  let next = 0;
  const sendNext = (): void => {
    const request = options.requests[next];
    if (request === undefined) return;
    const { blockHashes: prefixIds = [], promptTokens: tokens } = request;
    const replica = router.pick({ prefixIds, tokens }, openTokens, pendingTokens);
    next += 1;
    collect.submit(serving, replica, request, router.newTokens);
    scheduleNext();
  };
  // One timer at a time: a heap of all arrivals would be sorted again and again for nothing.
  const scheduleNext = (): void => {
    const request = options.requests[next];
    if (request !== undefined) clock.at(Math.round(request.atUs / speed), sendNext);
  };
  scheduleNext();
  clock.runSync();
  const lastUs = options.requests.at(-1)?.atUs ?? 0;
  return collect.result(serving, Math.round(lastUs / speed), clock.nowUs());
}

/** Only a fit to a client's times knows of it. */
function requestUsOf({ cost }: EngineConfig): number {
  return cost.kind === "fitted" ? (cost.fitted.requestUs ?? 0) : 0;
}

/** @throws MANX_NAME_UNKNOWN, MANX_CONFIG_IMPOSSIBLE */
function routerFor(routing: RouterName, replicas: number): (typeof ROUTERS)[RouterName] {
  const router = lookUp(ROUTERS, routing, "routing");
  const most = ROUTER_REPLICAS_MAX[routing];
  if (replicas <= most) return router;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: "more replicas than the router knows",
    where: "replicas",
    expected: `at most ${most} with routing "${routing}"`,
    got: String(replicas),
  });
}

function refuseBoth(): never {
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: "conditions of a fleet are for replicas, not for pools",
    where: "pools",
    expected: "either a fleet or pools",
    got: "both",
  });
}
