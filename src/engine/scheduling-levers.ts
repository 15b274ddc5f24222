/**
 * The scheduling levers of an engine's config: what they are by default, which combinations mean nothing, and the objects
 * that they name. Each can be pulled alone. All are plain values, so that a config can be written down and read back.
 */
import { lookUp, ManxError } from "../core/index.ts";
import { MIXINGS, type Mixing } from "./continuous-options.ts";
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
  /** Chunked scheduling: what a step begins with. */
  readonly mixing: Mixing;
  /** Prefill-first, and continuous scheduling, which always is: steps of prompts before answers have one; 0 for any number. */
  readonly consecutivePrefillsMax: number;
  /** Chunked scheduling: most tokens of one request in a step; 0 for any number. */
  readonly requestTokensMax: number;
  /** Uncached tokens above which a prompt is long. */
  readonly longPromptTokens: number;
  /** Most long prompts under way at a time; 0 for any number. */
  readonly longPrefillsMax: number;
  /** In how many steps others may pass a request that does not fit; 0 is strict order. */
  readonly passesMax: number;
}

export const SCHEDULING_DEFAULTS: SchedulingLevers = {
  order: "first-come",
  ageingUs: 10_000_000,
  priorityPreempts: false,
  starvationUs: 5_000_000,
  outputWeight: 2,
  mixing: "decode-first",
  consecutivePrefillsMax: 0,
  requestTokensMax: 0,
  longPromptTokens: 4_096,
  longPrefillsMax: 0,
  passesMax: 0,
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
  lookUp(ORDERS, levers.order, "order", "order");
  lookUp(
    Object.fromEntries(MIXINGS.map((name) => [name, name])),
    levers.mixing,
    "mixing",
    "mixing",
  );
  for (const [field, ok, expected] of [...orderRules(levers), ...capRules(levers, scheduling)]) {
    if (ok) continue;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: field,
      expected: `${field}: ${expected}`,
      got: String(levers[field]),
    });
  }
}

function orderRules(levers: SchedulingLevers): readonly Rule[] {
  const { ageingUs, starvationUs, outputWeight, priorityPreempts } = levers;
  return [
    ["ageingUs", isTime(ageingUs), "a time from 0 µs; 0 is strict priority"],
    ["starvationUs", isTime(starvationUs), "a time from 0 µs"],
    ["outputWeight", Number.isFinite(outputWeight) && outputWeight > 0, "a number above 0"],
    [
      "priorityPreempts",
      !priorityPreempts || levers.order === "priority",
      `false, unless order is "priority"; it is "${levers.order}"`,
    ],
  ];
}

function capRules(levers: SchedulingLevers, scheduling: string): readonly Rule[] {
  const counts = [
    ["consecutivePrefillsMax", 0],
    ["requestTokensMax", 0],
    ["longPromptTokens", 1],
    ["longPrefillsMax", 0],
    ["passesMax", 0],
  ] as const;
  const isStatic = scheduling === "static";
  const isChunked = scheduling === "chunked";
  const isPrefillFirst = levers.mixing === "prefill-first";
  const inStatic = "with static scheduling: a batch is formed once and nobody leaves it";
  const now = `scheduling is "${scheduling}"`;
  return [
    ...counts.map(
      ([field, least]): Rule => [
        field,
        Number.isSafeInteger(levers[field]) && levers[field] >= least,
        `a whole number from ${least}`,
      ],
    ),
    ["priorityPreempts", !levers.priorityPreempts || !isStatic, `false ${inStatic}`],
    ["longPrefillsMax", levers.longPrefillsMax === 0 || !isStatic, `0 ${inStatic}`],
    ["passesMax", levers.passesMax === 0 || !isStatic, `0 ${inStatic}`],
    [
      "requestTokensMax",
      levers.requestTokensMax === 0 || isChunked,
      `0, unless prompts are chunked; ${now}`,
    ],
    ["mixing", isChunked || !isPrefillFirst, `decode-first, unless prompts are chunked; ${now}`],
    [
      "consecutivePrefillsMax",
      levers.consecutivePrefillsMax === 0 || isPrefillFirst || scheduling === "continuous",
      `0, unless prompts go first; ${now}, mixing is "${levers.mixing}"`,
    ],
  ];
}

function isTime(us: number): boolean {
  return Number.isFinite(us) && us >= 0;
}
