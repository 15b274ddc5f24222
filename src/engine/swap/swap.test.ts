import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StepLog } from "../../../test/support/step-log.ts";
import { SimClock } from "../../clock/index.ts";
import { Batch } from "../batch.ts";
import { buildEngine } from "../build-engine.ts";
import { ContinuousBatcher } from "../continuous-batcher.ts";
import type { ContinuousOptions } from "../continuous-options.ts";
import { findGpu, findModel } from "../data-sheets.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../engine-config.ts";
import { type KvMemory, PagedKv } from "../kv-memory.ts";
import { FairShareOrder } from "../order/fair-share-order.ts";
import { PrefixKv } from "../prefix-kv.ts";
import { RadixKv } from "../radix-kv.ts";
import { HostPool } from "./host-pool.ts";
import { hostLink, withSwaps } from "./swap-cost.ts";

const OPTIONS: ContinuousOptions = { sequencesMax: 8, tokensMax: 64, prompts: "chunked" };

function swapping(
  kv: KvMemory,
  host: HostPool,
  more: Partial<ContinuousOptions> = {},
): { log: StepLog; scheduler: ContinuousBatcher } {
  const scheduler = new ContinuousBatcher(kv, { ...OPTIONS, ...more, host });
  return { log: new StepLog(scheduler), scheduler };
}

/** Two answers that grow until the younger is thrown out: ten blocks of four, both start with four. */
function addTwo(log: StepLog): void {
  log.add("A", { promptTokens: 16, outputTokens: 12 });
  log.add("B", { promptTokens: 16, outputTokens: 12 });
}

describe("pre-emption by swap", () => {
  it("brings an answer back where it was: no token is computed twice", () => {
    const host = new HostPool(100, 4);
    const { log } = swapping(new PagedKv(40, 4), host);
    addTwo(log);
    log.runToEnd();
    expect(log.preempted).toEqual(["B"]);
    expect(log.computedTokens).toBe(2 * (16 + 12 - 1));
    expect(log.outputs.B).toHaveLength(12);
    // B is thrown out with 20 tokens, as A needs a sixth block, and is back when A has ended.
    expect(host.totals).toEqual({
      out: 1,
      in: 1,
      dropped: 0,
      outTokens: 20,
      inTokens: 20,
      refused: 0,
    });
    expect(host.usedTokens).toBe(0);
  });

  it("falls back to computing again where host memory is full, and says how often", () => {
    const host = new HostPool(16, 4);
    const { log } = swapping(new PagedKv(40, 4), host);
    addTwo(log);
    log.runToEnd();
    expect(log.preempted).toEqual(["B"]);
    expect(host.totals).toMatchObject({ out: 0, refused: 1 });
    expect(log.computedTokens).toBeGreaterThan(2 * (16 + 12 - 1));
    expect(log.outputs.B).toHaveLength(12);
  });

  it("charges the step that orders a copy with it, in whole blocks and each way once", () => {
    const host = new HostPool(100, 4);
    const { log, scheduler } = swapping(new PagedKv(40, 4), host);
    addTwo(log);
    const moved: [number, number][] = [];
    const sink = { onToken: () => undefined, onFinish: () => undefined };
    for (let step = 1; ; step += 1) {
      const batch = scheduler.plan(step);
      if (batch === undefined) break;
      if (batch.swapOutTokens + batch.swapInTokens > 0) {
        moved.push([batch.swapOutTokens, batch.swapInTokens]);
      }
      scheduler.commit(batch, step, sink);
      scheduler.check();
    }
    expect(moved).toEqual([
      [20, 0],
      [0, 20],
    ]);
  });

  it("frees the copy of an aborted request once", () => {
    const host = new HostPool(100, 4);
    const { log, scheduler } = swapping(new PagedKv(40, 4), host);
    addTwo(log);
    while (host.held === 0) log.step();
    const b = log.requests.B as never;
    expect(scheduler.abort(b)).toBe(true);
    expect(host.usedTokens).toBe(0);
    expect(scheduler.abort(b)).toBe(false);
    scheduler.check();
    log.runToEnd();
    expect(host.totals).toMatchObject({ out: 1, in: 0, dropped: 1 });
    expect(log.finished).toEqual(["A"]);
  });

  it("comes before a new request of a tenant whose turn it would be", () => {
    const order = new FairShareOrder(1);
    const host = new HostPool(100, 4);
    const { log } = swapping(new PagedKv(40, 4), host, { order });
    log.add("A", { promptTokens: 16, outputTokens: 12, tenant: "greedy" });
    log.add("B", { promptTokens: 16, outputTokens: 12, tenant: "greedy" });
    while (host.held === 0) log.step();
    log.add("C", { promptTokens: 4, outputTokens: 1, tenant: "modest" });
    log.runToEnd();
    const backAt = log.outputs.B!.find((step) => step > log.outputs.A!.at(-1)!)!;
    expect(log.outputs.C![0]).toBeGreaterThanOrEqual(backAt);
  });

  it("lets an answer back among answers, not among whole prompts", () => {
    const host = new HostPool(100, 4);
    const { log } = swapping(new PagedKv(40, 4), host, { prompts: "whole" });
    addTwo(log);
    while (host.held === 0) log.step();
    log.add("C", { promptTokens: 12, outputTokens: 2 });
    log.runToEnd();
    for (const { work } of log.rows) {
      const tokens = Object.values(work);
      expect(tokens.every((n) => n === 1) || tokens.every((n) => n > 1)).toBe(true);
    }
  });
});

describe("pre-emption by swap with shared memory", () => {
  const family = { promptTokens: 16, outputTokens: 12, prefixIds: [1, 2] };

  it("copies shared blocks too, and brings back only what is no longer there", () => {
    for (const kv of [new PrefixKv(40, 4, 8), new RadixKv(40, 8)]) {
      const host = new HostPool(100, kv.name === "prefix" ? 4 : 1);
      const { log } = swapping(kv, host, { tokensMax: 16 });
      log.add("A", { promptTokens: 8, outputTokens: 24 });
      log.add("B", family);
      log.step();
      log.step();
      log.add("C", family);
      log.runToEnd();
      expect(log.preempted).toContain("C");
      expect(host.totals.in).toBe(host.totals.out);
      expect(host.totals.inTokens).toBeLessThan(host.totals.outTokens);
      expect(host.totals.outTokens).toBeGreaterThanOrEqual(log.preempted.length * 8);
    }
  });

  it("needs no copy back at all if everything is found on the GPU", () => {
    const kv = new PrefixKv(80, 4);
    const host = new HostPool(100, 4);
    const log = new StepLog(new ContinuousBatcher(kv, OPTIONS));
    const request = log.add("A", { promptTokens: 9, outputTokens: 4 }) as never as {
      computed: number;
      generated: number;
      hostTokens: number;
    };
    kv.admit(request as never, 12, kv.match(request as never));
    request.computed = 8;
    host.put(request as never);
    kv.release(request as never, true);
    expect(request.hostTokens).toBe(8);
    host.take(request as never, kv.match(request as never));
    expect(host.totals).toMatchObject({ outTokens: 8, inTokens: 0 });
    expect(host.usedTokens).toBe(0);
  });
});

describe("any schedule with enough host memory", () => {
  it("computes each token once", () => {
    const shape = fc.record({
      promptTokens: fc.integer({ min: 1, max: 16 }),
      outputTokens: fc.integer({ min: 1, max: 16 }),
    });
    let swaps = 0;
    fc.assert(
      fc.property(
        fc.array(shape, { minLength: 2, maxLength: 30 }),
        fc.integer({ min: 8, max: 20 }),
        fc.constantFrom<Partial<ContinuousOptions>>(
          {},
          { admission: "step", ahead: true },
          { mixing: "prefill-first" },
          { prompts: "whole" },
        ),
        (shapes, blocks, options) => {
          const host = new HostPool(10_000, 4);
          const { log } = swapping(new PagedKv(4 * blocks, 4), host, options);
          for (const [i, one] of shapes.entries()) log.add(`r${i}`, one);
          log.runToEnd();
          const least = shapes.reduce(
            (sum, one) => sum + one.promptTokens + one.outputTokens - 1,
            0,
          );
          expect(log.computedTokens).toBe(least);
          expect(host.totals.in).toBe(host.totals.out);
          swaps += host.totals.out;
        },
      ),
    );
    expect(swaps).toBeGreaterThan(100);
  });
});

describe("the price of a swap", () => {
  it("is the bytes over the data sheet's PCIe, each rank moving its own part", () => {
    const [gpu, model] = [findGpu("h100-sxm"), findModel("llama-3.1-8b")];
    const plain = { name: "none", stepUs: () => 1_000 };
    const batch = new Batch();
    expect(withSwaps(plain, { gpu, model, ranks: 1 }).stepUs(batch)).toBe(1_000);
    batch.swapOutTokens = 1_000;
    // 1,000 tokens of 128 KiB over 0.8 · 64 GB/s.
    const oneWayUs = 20 + (1_000 * 131_072) / 51_200;
    expect(withSwaps(plain, { gpu, model, ranks: 1 }).stepUs(batch)).toBe(
      1_000 + Math.round(oneWayUs),
    );
    batch.swapInTokens = 1_000;
    expect(withSwaps(plain, { gpu, model, ranks: 1 }).stepUs(batch)).toBe(
      1_000 + Math.round(2 * oneWayUs),
    );
    const half = 2 * (20 + (500 * 131_072) / 51_200);
    expect(withSwaps(plain, { gpu, model, ranks: 2 }).stepUs(batch)).toBe(1_000 + Math.round(half));
    expect(hostLink(findGpu("l40s")).bytesPerS * 2).toBe(hostLink(gpu).bytesPerS);
  });
});

describe("an engine that swaps", () => {
  function run(lever: Partial<EngineConfig>) {
    const clock = new SimClock();
    let finished = 0;
    const engine = buildEngine(
      // Room for about 12,000 tokens beside the weights.
      { ...ENGINE_DEFAULTS, memoryShare: 0.25, ...lever },
      {
        clock,
        checked: true,
        sink: {
          onToken: () => undefined,
          onFinish: () => {
            finished += 1;
          },
        },
      },
    );
    for (let i = 0; i < 24; i += 1) {
      clock.at(i * 20_000, () => engine.submit({ promptTokens: 900, outputTokens: 600 }, i));
    }
    clock.runSync();
    expect(finished).toBe(24);
    return { totals: engine.totals, host: engine.scheduler.host, endUs: clock.nowUs() };
  }

  it("spends less time on what it throws out than one that computes again", () => {
    for (const memory of ["paged", "radix"] as const) {
      const swap = run({ memory, preemption: "swap" });
      const recompute = run({ memory });
      expect(swap.totals.preemptions).toBeGreaterThan(0);
      expect(recompute.totals.preemptions).toBeGreaterThan(0);
      expect(swap.host?.totals.out).toBe(swap.totals.preemptions);
      expect(swap.totals.computedTokens).toBeLessThanOrEqual(recompute.totals.computedTokens);
      expect(recompute.host).toBeUndefined();
      if (memory === "paged") expect(swap.totals.busyUs).toBeLessThan(recompute.totals.busyUs);
    }
  });

  it("without host memory is the one that computes again", () => {
    const none = run({ preemption: "swap", hostMemoryBytes: 0 });
    const recompute = run({});
    expect(none.totals).toEqual(recompute.totals);
    expect(none.host?.totals.refused).toBe(recompute.totals.preemptions);
  });

  it("drafts as well", () => {
    const speculation = { draftTokens: 3, acceptance: 0.8, draftShare: 0 };
    const both = run({ preemption: "swap", speculation });
    expect(both.host?.totals.out).toBeGreaterThan(0);
  });
});
