/**
 * The scheduling levers of an engine's config: what they are by default, which combinations mean nothing, and the objects
 * that they name. Each can be pulled alone. All are plain values, so that a config can be written down and read back.
 */
import { lookUp, ManxError } from "../core/index.ts";
import type { KvMemory } from "./kv-memory.ts";
import { FairShareOrder } from "./order/fair-share-order.ts";
import { PriorityOrder } from "./order/priority-order.ts";
import { FirstCome, type OrderName, type QueueOrder } from "./order/queue-order.ts";
import { ShortestUncachedOrder } from "./order/shortest-uncached-order.ts";

export interface SchedulingLevers {
  /** Who is let in next. */
  readonly order: OrderName;
  /** Order "priority": µs of waiting that are worth one class; 0 is strict, and lets the worse classes starve. */
  readonly ageingUs: number;
  /** Order "priority": a better class throws out who runs, instead of waiting for place or memory. */
  readonly priorityPreempts: boolean;
  /** Order "shortest-uncached": µs of waiting after which age counts more than length. */
  readonly starvationUs: number;
  /** Order "fair-share": what an output token counts against a prompt token. */
  readonly outputWeight: number;
}

export const SCHEDULING_DEFAULTS: SchedulingLevers = {
  order: "first-come",
  ageingUs: 10_000_000,
  priorityPreempts: false,
  starvationUs: 5_000_000,
  outputWeight: 2,
};

const ORDERS: Readonly<Record<OrderName, (levers: SchedulingLevers, kv: KvMemory) => QueueOrder>> =
  {
    "first-come": () => new FirstCome(),
    priority: ({ ageingUs }) => new PriorityOrder(ageingUs),
    "shortest-uncached": ({ starvationUs }, kv) => new ShortestUncachedOrder(kv, starvationUs),
    "fair-share": ({ outputWeight }) => new FairShareOrder(outputWeight),
  };

/** @throws MANX_NAME_UNKNOWN with the nearest order. */
export function buildOrder(levers: SchedulingLevers, kv: KvMemory): QueueOrder {
  return lookUp(ORDERS, levers.order, "order")(levers, kv);
}

type Rule = readonly [field: keyof SchedulingLevers, ok: boolean, expected: string];

/** @throws MANX_CONFIG_IMPOSSIBLE naming the lever, MANX_NAME_UNKNOWN */
export function checkScheduling(levers: SchedulingLevers, scheduling: string): void {
  lookUp(ORDERS, levers.order, "order");
  const { ageingUs, starvationUs, outputWeight, priorityPreempts } = levers;
  const rules: readonly Rule[] = [
    ["ageingUs", isTime(ageingUs), "a time from 0 µs; 0 is strict priority"],
    ["starvationUs", isTime(starvationUs), "a time from 0 µs"],
    ["outputWeight", Number.isFinite(outputWeight) && outputWeight > 0, "a number above 0"],
    [
      "priorityPreempts",
      !priorityPreempts || levers.order === "priority",
      `false, unless order is "priority"; it is "${levers.order}"`,
    ],
    [
      "priorityPreempts",
      !priorityPreempts || scheduling !== "static",
      "false with static scheduling: nobody leaves a batch before it ends",
    ],
  ];
  for (const [field, ok, expected] of rules) {
    if (ok) continue;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: field,
      expected: `${field}: ${expected}`,
      got: String(levers[field]),
    });
  }
}

function isTime(us: number): boolean {
  return Number.isFinite(us) && us >= 0;
}
