/**
 * A scheduler's life under abuse: random lengths, tiny memory, aborts between plan and commit, after commit and twice, and
 * conservation checked after every step. Throws at the first broken invariant; one seed fixes everything.
 */
import { Random } from "../../src/clock/index.ts";
import { assert } from "../../src/core/index.ts";
import {
  buildOrder,
  ContiguousKv,
  ContinuousBatcher,
  type ContinuousOptions,
  EngineRequest,
  HostPool,
  type KvMemory,
  type OrderName,
  PagedKv,
  PrefixKv,
  RadixKv,
  SCHEDULING_DEFAULTS,
  type Scheduler,
  SpeculativeScheduler,
  StaticBatcher,
} from "../../src/engine/index.ts";

export interface FuzzOutcome {
  readonly finished: number;
  readonly aborted: number;
  readonly preemptions: number;
  /** Of the pre-emptions, those whose KV went to host memory. */
  readonly swaps: number;
  readonly steps: number;
}

const LONGEST = 16;
/** A step in which nothing at all happens is allowed only while nothing waits; so this bounds liveness. */
const STEPS_MAX = 20_000;

/** Every scheduler over every memory, with sizes drawn from the seed; each can hold its longest request alone. */
export const SUBJECTS: Readonly<Record<string, (random: Random) => Scheduler>> = {
  chunked: (random) => continuous(new PagedKv(poolTokens(random), 4), "chunked", random),
  whole: (random) => continuous(new PagedKv(poolTokens(random), 4), "whole", random),
  contiguous: (random) =>
    continuous(new ContiguousKv(poolTokens(random), 2 * LONGEST), "whole", random),
  prefix: (random) => continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random),
  "prefix, whole": (random) => continuous(new PrefixKv(poolTokens(random), 4, 4), "whole", random),
  ahead: (random) =>
    continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, {
      admission: "step",
      ahead: true,
    }),
  "paged, ahead": (random) =>
    continuous(new PagedKv(poolTokens(random), 4), "chunked", random, { ahead: true }),
  priority: (random) => ordered("priority", new PagedKv(poolTokens(random), 4), "chunked", random),
  "priority, prefix": (random) =>
    ordered("priority", new PrefixKv(poolTokens(random), 4, 8), "chunked", random),
  "priority, whole": (random) =>
    ordered("priority", new PagedKv(poolTokens(random), 4), "whole", random),
  shortest: (random) =>
    ordered("shortest-uncached", new PrefixKv(poolTokens(random), 4, 8), "chunked", random),
  "fair share": (random) =>
    ordered("fair-share", new PrefixKv(poolTokens(random), 4, 8), "whole", random),
  caps: (random) =>
    continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, caps(random)),
  "caps, whole": (random) =>
    continuous(new PagedKv(poolTokens(random), 4), "whole", random, caps(random)),
  "prefill first": (random) =>
    continuous(new PagedKv(poolTokens(random), 4), "chunked", random, {
      ...caps(random),
      mixing: "prefill-first",
    }),
  "caps, fair share": (random) =>
    ordered("fair-share", new PagedKv(poolTokens(random), 4), "chunked", random, caps(random)),
  "caps, priority": (random) =>
    ordered("priority", new PrefixKv(poolTokens(random), 4, 8), "chunked", random, caps(random)),
  speculative: (random) =>
    drafting(continuous(new PagedKv(poolTokens(random), 4), "chunked", random), random),
  "speculative, prefix": (random) =>
    drafting(continuous(new PrefixKv(poolTokens(random), 4, 8), "whole", random), random),
  radix: (random) => continuous(new RadixKv(poolTokens(random), 8), "chunked", random),
  "radix, tokens": (random) => continuous(new RadixKv(poolTokens(random), 4), "whole", random),
  "radix, step": (random) =>
    continuous(new RadixKv(poolTokens(random), 5), "chunked", random, { admission: "step" }),
  "radix, priority": (random) =>
    ordered("priority", new RadixKv(poolTokens(random), 4), "chunked", random, caps(random)),
  swap: (random) =>
    continuous(new PagedKv(poolTokens(random), 4), "chunked", random, swaps(random, 4)),
  "swap, whole": (random) =>
    continuous(new PagedKv(poolTokens(random), 4), "whole", random, {
      ...caps(random),
      ...swaps(random, 4),
    }),
  "swap, prefix": (random) =>
    continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, {
      ...swaps(random, 4),
      admission: "step",
    }),
  "swap, radix": (random) =>
    continuous(new RadixKv(poolTokens(random), 5), "chunked", random, swaps(random, 1)),
  "swap, ahead": (random) =>
    continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, {
      ...swaps(random, 4),
      admission: "step",
      ahead: true,
    }),
  "swap, prefill first": (random) =>
    continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, {
      ...swaps(random, 4),
      mixing: "prefill-first",
      consecutivePrefillsMax: random.int(3),
    }),
  "swap, priority": (random) =>
    ordered("priority", new PrefixKv(poolTokens(random), 4, 8), "chunked", random, {
      ...caps(random),
      ...swaps(random, 4),
    }),
  "swap, priority, whole": (random) =>
    ordered("priority", new PagedKv(poolTokens(random), 4), "whole", random, {
      ...caps(random),
      ...swaps(random, 4),
    }),
  "swap, shortest": (random) =>
    ordered("shortest-uncached", new RadixKv(poolTokens(random), 4), "chunked", random, {
      ...swaps(random, 1),
      passesMax: random.int(3),
    }),
  "swap, fair share": (random) =>
    ordered("fair-share", new PagedKv(poolTokens(random), 4), "whole", random, swaps(random, 4)),
  "swap, speculative": (random) =>
    drafting(
      continuous(new PrefixKv(poolTokens(random), 4, 8), "chunked", random, swaps(random, 4)),
      random,
    ),
  static: (random) =>
    new StaticBatcher(new PagedKv(poolTokens(random), 4), {
      sequencesMax: 1 + random.int(6),
      fillWaitUs: random.int(4),
    }),
};

/** Drafts always pay here, and every share of them is accepted. */
function drafting(inner: Scheduler, random: Random): Scheduler {
  const draftTokens = 1 + random.int(5);
  const speculation = { draftTokens, acceptance: random.int(5) / 4, draftShare: 0 };
  const cost = { name: "one", stepUs: () => 1 };
  return new SpeculativeScheduler(inner, cost, speculation, 8 + random.int(24));
}

/** From just enough for one request to room for seven. */
function poolTokens(random: Random): number {
  return 2 * LONGEST * (1 + random.int(7));
}

function continuous(
  kv: KvMemory,
  prompts: "whole" | "chunked",
  random: Random,
  more: Partial<ContinuousOptions> = {},
): Scheduler {
  return new ContinuousBatcher(kv, {
    ...more,
    sequencesMax: 1 + random.int(6),
    tokensMax: 1 + random.int(24),
    prompts,
  });
}

/** Each of them on in half of the seeds. */
function caps(random: Random): Partial<ContinuousOptions> {
  return {
    requestTokensMax: random.int(2) * (1 + random.int(6)),
    longPromptTokens: 1 + random.int(8),
    longPrefillsMax: random.int(2) * (1 + random.int(2)),
    consecutivePrefillsMax: random.int(2) * (1 + random.int(3)),
    passesMax: random.int(2) * (1 + random.int(5)),
  };
}

/** A host memory from none at all to room for about four requests. */
function swaps(random: Random, blockTokens: number): Partial<ContinuousOptions> {
  return { host: new HostPool(random.int(8 * LONGEST), blockTokens) };
}

/** Strict priority and with ageing, with and without pre-emption; the seed decides. */
function ordered(
  order: OrderName,
  kv: KvMemory,
  prompts: "whole" | "chunked",
  random: Random,
  more: Partial<ContinuousOptions> = {},
): Scheduler {
  const levers = {
    ...SCHEDULING_DEFAULTS,
    order,
    ageingUs: random.int(3) * 10,
    starvationUs: random.int(40),
  };
  return continuous(kv, prompts, random, {
    ...more,
    order: buildOrder(levers, kv),
    priorityPreempts: order === "priority" && random.next() < 0.5,
  });
}

/** @throws MANX_INTERNAL with the invariant that broke. */
export function abuse(subject: string, seed: number, requests = 300): FuzzOutcome {
  const random = new Random(seed, `abuse ${subject}`);
  const scheduler = SUBJECTS[subject]!(random);
  const abortShare = random.next() < 0.3 ? 0 : 0.25;
  const ended = new Map<EngineRequest, "finished" | "aborted">();
  const all: EngineRequest[] = [];
  let preemptions = 0;
  let steps = 0;
  const end = (request: EngineRequest, how: "finished" | "aborted"): void => {
    assert(!ended.has(request), "a request ends once");
    ended.set(request, how);
  };
  const abortSome = (): void => {
    if (all.length === 0 || random.next() >= abortShare) return;
    const request = all[random.int(all.length)]!;
    const before = ended.has(request);
    assert(
      scheduler.abort(request) === !before,
      "an abort answers whether there was something to abort",
    );
    if (!before) end(request, "aborted");
    assert(!scheduler.abort(request), "a second abort finds nothing");
  };
  const sink = {
    onToken: (request: EngineRequest) => assert(!ended.has(request), "no token after the end"),
    onPreempt: () => {
      preemptions += 1;
    },
    onFinish: (request: EngineRequest) => {
      assert(request.generated === request.outputTokens, "a finished answer is whole");
      end(request, "finished");
    },
  };
  for (; ; steps += 1) {
    assert(steps < STEPS_MAX, "everything ends: no livelock, no starvation");
    while (all.length < requests && random.next() < 0.4) {
      const request = new EngineRequest(shape(random), steps, undefined);
      all.push(request);
      scheduler.enqueue(request);
    }
    abortSome();
    const inHost = all.filter(({ hostTokens }) => hostTokens > 0);
    const batch = scheduler.plan(steps);
    assertBackFirst(subject, inHost, batch?.requests ?? [], steps);
    if (batch === undefined && all.length === requests && scheduler.waiting === 0) break;
    abortSome();
    if (batch !== undefined) scheduler.commit(batch, steps, sink);
    scheduler.check();
  }
  assert(ended.size === requests, "every request ends");
  assert(scheduler.running === 0 && scheduler.liveTokens === 0, "nothing runs at the end");
  assert(scheduler.kv.reservedTokens === 0, "all memory is free at the end");
  assert((scheduler.host?.usedTokens ?? 0) === 0, "all host memory is free at the end");
  const swaps = scheduler.host?.totals.out ?? 0;
  const finished = [...ended.values()].filter((how) => how === "finished").length;
  return { finished, aborted: requests - finished, preemptions, swaps, steps };
}

/**
 * Nobody new is let in while one with a copy in host memory stays outside. Not under an order that goes on after
 * admission, nor where a cap on long prompts holds that one back.
 */
function assertBackFirst(
  subject: string,
  inHost: readonly EngineRequest[],
  batch: readonly EngineRequest[],
  step: number,
): void {
  if (inHost.length === 0 || subject === "swap, whole" || /priority/.test(subject)) return;
  if (!batch.some(({ scheduledUs }) => scheduledUs === step)) return;
  for (const request of inHost) {
    assert(request.hostTokens === 0, "who was swapped out is back before anybody new");
  }
}

/** Three families of prompts, so that a prefix memory has something to share. */
function shape(random: Random): ConstructorParameters<typeof EngineRequest>[0] {
  const family = 1 + random.int(3);
  return {
    promptTokens: 1 + random.int(LONGEST),
    outputTokens: 1 + random.int(LONGEST),
    prefixIds: [family * 10, family * 10 + 1, family * 10 + 2, family * 10 + 3],
    priority: random.int(3),
    tenant: `tenant ${random.int(3)}`,
  };
}
