import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StepLog } from "../../../test/support/step-log.ts";
import { Random } from "../../clock/index.ts";
import { ContinuousBatcher } from "../continuous-batcher.ts";
import { PagedKv } from "../kv-memory.ts";
import { PrefixKv } from "../prefix-kv.ts";
import { EngineRequest, type RequestShape } from "../request.ts";
import { buildOrder, checkScheduling, SCHEDULING_DEFAULTS } from "../scheduling-levers.ts";
import { FairShareOrder } from "./fair-share-order.ts";
import { PriorityOrder } from "./priority-order.ts";
import { ORDER_NAMES, type OrderName, type QueueOrder } from "./queue-order.ts";
import { ShortestUncachedOrder } from "./shortest-uncached-order.ts";

function ask(shape: Partial<RequestShape>, arrivedUs = 0): EngineRequest {
  return new EngineRequest({ promptTokens: 8, outputTokens: 2, ...shape }, arrivedUs, undefined);
}

function orderOf(name: OrderName): QueueOrder {
  return buildOrder({ ...SCHEDULING_DEFAULTS, order: name }, new PagedKv(64, 4));
}

describe.each(ORDER_NAMES)("the order %s", (name) => {
  it("gives each request out once, whatever comes, goes and is put back", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(99), { maxLength: 400 }), (moves) => {
        const order = orderOf(name);
        const waiting = new Set<EngineRequest>();
        const out: EngineRequest[] = [];
        let nowUs = 0;
        for (const move of moves) {
          nowUs += 1;
          if (move < 50) {
            const request = ask(
              { priority: move % 4, tenant: `t${move % 3}`, promptTokens: 1 + move },
              nowUs,
            );
            order.push(request);
            waiting.add(request);
          } else if (move < 75) {
            const next = order.peek(nowUs);
            expect(order.shift()).toBe(next);
            if (next === undefined) expect(waiting.size).toBe(0);
            else out.push(next);
            if (next !== undefined) expect(waiting.delete(next)).toBe(true);
          } else if (move < 85 && out.length > 0) {
            const back = out.pop()!;
            order.putBack(back);
            waiting.add(back);
          } else {
            const [gone] = [...waiting].slice(move % 7);
            if (gone !== undefined) expect(order.remove(gone)).toBe(waiting.delete(gone));
            if (gone !== undefined) expect(order.remove(gone)).toBe(false);
          }
          expect(order.size).toBe(waiting.size);
        }
        expect(new Set(order)).toEqual(waiting);
      }),
      { numRuns: 60 },
    );
  });
});

describe("PriorityOrder", () => {
  it("is overtaken within a class never, by a better one only within its lead", () => {
    const request = fc.record({ priority: fc.nat(5), afterUs: fc.nat(30), take: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(request, { minLength: 1, maxLength: 80 }),
        fc.nat(20),
        (all, ageingUs) => {
          const order = new PriorityOrder(ageingUs);
          const waiting = new Set<EngineRequest>();
          let nowUs = 0;
          for (const { priority, afterUs, take } of all) {
            nowUs += afterUs;
            const next = ask({ priority }, nowUs);
            order.push(next);
            waiting.add(next);
            if (!take) continue;
            const first = order.shift()!;
            waiting.delete(first);
            for (const other of waiting) {
              const leadUs = (other.priority - first.priority) * ageingUs;
              if (ageingUs > 0)
                expect(first.arrivedUs - other.arrivedUs).toBeLessThanOrEqual(leadUs);
              else expect(first.priority).toBeLessThanOrEqual(other.priority);
            }
          }
        },
      ),
    );
  });

  it("does not keep what was aborted in its heap", () => {
    const order = new PriorityOrder(0);
    const stays = ask({ priority: 0 });
    order.push(stays);
    for (let i = 0; i < 1_000; i += 1) {
      const goes = ask({ priority: 9 });
      order.push(goes);
      order.remove(goes);
    }
    expect([order.size, order.shift(), order.peek()]).toEqual([1, stays, undefined]);
  });
});

describe("ShortestUncachedOrder", () => {
  it("counts what the cache does not hold, not the length", () => {
    const kv = new PrefixKv(400, 4, 4);
    const cached = ask({ promptTokens: 40, prefixIds: Array.from({ length: 10 }, (_, i) => i) });
    kv.admit(cached, 40, kv.match(cached));
    cached.computed = 40;
    kv.seal(cached);
    const order = new ShortestUncachedOrder(kv, 1_000);
    const short = ask({ promptTokens: 5 });
    const long = ask({ promptTokens: 40, prefixIds: cached.prefixIds });
    order.push(short);
    order.push(long);
    // 40 tokens, of which 36 are cached.
    expect(order.peek(1)).toBe(long);
  });

  it("lets nobody pass one that has waited for the bound, and compares only the oldest 128", () => {
    const order = new ShortestUncachedOrder(new PagedKv(4_000, 4), 100);
    const giant = ask({ promptTokens: 900 }, 0);
    order.push(giant);
    for (let i = 0; i < 300; i += 1) order.push(ask({ promptTokens: 300 - i }, 1));
    expect(order.peek(50)!.promptTokens).toBe(300 - 126);
    expect(order.peek(99)).not.toBe(giant);
    expect(order.peek(100)).toBe(giant);
  });

  it("starves nobody in a run: who is passed has waited less than the bound", () => {
    const kv = new PagedKv(400, 4);
    const order = new ShortestUncachedOrder(kv, 30);
    const options = { sequencesMax: 1, tokensMax: 64, prompts: "chunked", order } as const;
    const log = new StepLog(new ContinuousBatcher(kv, options));
    const random = new Random(7, "shortest");
    for (let step = 1; step <= 300; step += 1) {
      // More comes than is served, so that the longest would wait for ever.
      if (step % 2 === 1) {
        log.add(`R${step}`, { promptTokens: 1 + random.int(60), outputTokens: 3 });
      }
      log.step();
    }
    const all = Object.values(log.requests);
    for (const early of all) {
      for (const late of all) {
        if (!(late.scheduledUs < early.scheduledUs) || late.arrivedUs <= early.arrivedUs) continue;
        expect(late.scheduledUs - early.arrivedUs).toBeLessThan(30);
      }
    }
  });
});

describe("FairShareOrder", () => {
  /** Two tenants that always have something waiting: one asks long and much, the other short and little. */
  function backlogged(order: QueueOrder, seed: number): { a: number; b: number }[] {
    const kv = new PagedKv(400, 4);
    const options = { sequencesMax: 6, tokensMax: 64, prompts: "chunked", order } as const;
    const scheduler = new ContinuousBatcher(kv, options);
    const log = new StepLog(scheduler);
    const random = new Random(seed, "fair share");
    const service: { a: number; b: number }[] = [];
    let added = 0;
    const add = (tenant: "a" | "b"): void => {
      added += 1;
      const most = tenant === "a" ? 100 : 12;
      log.add(`${tenant} ${added}`, {
        promptTokens: 1 + random.int(most),
        outputTokens: 1 + random.int(20),
        tenant,
      });
    };
    for (let step = 0; step < 400; step += 1) {
      // a sends a burst of three for each one of b, so first come, first served gives it most of the engine.
      while ([...waitingOf(log)].filter((name) => name.startsWith("b")).length < 4) {
        for (let i = 0; i < 3; i += 1) add("a");
        add("b");
      }
      while ([...waitingOf(log)].filter((name) => name.startsWith("a")).length < 4) add("a");
      log.step();
      const served = { a: 0, b: 0 };
      for (const request of Object.values(log.requests)) {
        if (Number.isNaN(request.scheduledUs)) continue;
        served[request.tenant as "a" | "b"] += request.promptTokens + 2 * request.generated;
      }
      service.push(served);
    }
    return service;
  }

  function waitingOf(log: StepLog): string[] {
    return Object.entries(log.requests)
      .filter(([, request]) => request.state === "waiting")
      .map(([name]) => name);
  }

  it("keeps the service of two backlogged tenants within the paper's bound; first come does not", () => {
    const bound = 2 * Math.max(100, 2 * 400);
    const worst = (order: QueueOrder, seed: number): number =>
      Math.max(...backlogged(order, seed).map(({ a, b }) => Math.abs(a - b)));
    for (let seed = 0; seed < 3; seed += 1) {
      expect(worst(new FairShareOrder(2), seed)).toBeLessThanOrEqual(bound);
    }
    expect(worst(orderOf("first-come"), 0)).toBeGreaterThan(bound);
  });

  it("lifts who returns from idling: no claim is saved up", () => {
    const order = new FairShareOrder(1);
    const busy = [1, 2, 3].map(() => ask({ tenant: "busy" }));
    for (const request of busy) order.push(request);
    order.charge(order.shift()!, 1_000, 0);
    const late = ask({ tenant: "late" });
    order.push(late);
    expect(order.served("late")).toBe(1_000);
    expect([order.shift(), order.shift()]).toEqual([busy[1], busy[2]]);
    expect(order.shift()).toBe(late);
    order.charge(late, 50, 0);
    // Nobody waits any more: the last that did is the measure.
    order.push(ask({ tenant: "new" }));
    expect(order.served("new")).toBe(1_050);
  });

  it("does not lift one whose request is put back: it was not idle", () => {
    const order = new FairShareOrder(1);
    const other = ask({ tenant: "other" });
    order.push(ask({ tenant: "few" }));
    order.push(other);
    order.charge(other, 1_000, 0);
    const request = order.shift()!;
    order.putBack(request);
    expect([request.tenant, order.served("few")]).toEqual(["few", 0]);
  });

  it("forgets idle tenants beyond its bound, first those that a return would lift", () => {
    const order = new FairShareOrder(1);
    order.push(ask({ tenant: "waits" }));
    const owes = ask({ tenant: "owes" });
    order.charge(owes, 500, 0);
    const pass = (count: number, tokens: number): void => {
      for (let i = 0; i < count; i += 1) {
        const request = ask({ tenant: `t${i} ${tokens}` });
        order.push(request);
        order.charge(request, tokens, 0);
        order.remove(request);
      }
    };
    pass(5_000, 0);
    // Those who owe nothing are forgotten before one who does, and that one when nobody else is left.
    expect(order.served("owes")).toBe(500);
    pass(5_000, 1);
    expect(order.served("owes")).toBe(0);
  });
});

describe("levers that mean nothing", () => {
  it.each([
    [{ ageingUs: -1 }, "ageingUs"],
    [{ starvationUs: Number.NaN }, "starvationUs"],
    [{ outputWeight: 0 }, "outputWeight"],
    [{ priorityPreempts: true }, "priorityPreempts"],
    [{ requestTokensMax: -1 }, "requestTokensMax"],
    [{ longPromptTokens: 0 }, "longPromptTokens"],
    [{ passesMax: 1.5 }, "passesMax"],
    [{ consecutivePrefillsMax: 2 }, "consecutivePrefillsMax"],
  ])("%j is refused by name", (part, where) => {
    expect(() => checkScheduling({ ...SCHEDULING_DEFAULTS, ...part }, "chunked")).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
    );
  });

  it.each([
    [{ mixing: "prefill-first" as const }, "mixing"],
    [{ requestTokensMax: 64 }, "requestTokensMax"],
    [{ longPrefillsMax: 1 }, "longPrefillsMax"],
    [{ passesMax: 1 }, "passesMax"],
    [{ order: "priority" as const, priorityPreempts: true }, "priorityPreempts"],
  ])("%j is refused of a static batch", (part, where) => {
    expect(() => checkScheduling({ ...SCHEDULING_DEFAULTS, ...part }, "static")).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
    );
  });

  it("an unknown order is told the nearest", () => {
    const levers = { ...SCHEDULING_DEFAULTS, order: "priorty" as OrderName };
    expect(() => checkScheduling(levers, "chunked")).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN", hint: 'did you mean "priority"?' }),
    );
  });
});
