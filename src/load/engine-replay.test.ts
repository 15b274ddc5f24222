import { describe, expect, it } from "vitest";
import { ENGINE_DEFAULTS, type OrderName } from "../engine/index.ts";
import { type ReplayOptions, replay } from "./engine-replay.ts";
import { toResultRun } from "./replay-run.ts";
import type { WorkRequest } from "./work-request.ts";

const work = (atUs: number, promptTokens: number, outputTokens: number): WorkRequest => ({
  atUs,
  promptTokens,
  outputTokens,
  row: 0,
});

const options: ReplayOptions = {
  name: "test",
  requests: [work(0, 10, 3), work(1_000_000, 10, 1), work(2_000_000, 10, 2)],
  workload: "three",
  arrivals: "by hand",
  config: ENGINE_DEFAULTS,
  seed: null,
  cost: { name: "fixed", stepUs: () => 100 },
};

describe("replay", () => {
  it("measures what can be worked out by hand", () => {
    const { histograms, totals, endUs } = replay(options);
    expect(histograms.ttftUs.toJSON()).toMatchObject({ n: 3, min: 100, max: 100 });
    expect(histograms.itlUs.toJSON()).toMatchObject({ n: 3, sum: 300 });
    expect(histograms.e2eUs.toJSON()).toMatchObject({ min: 100, max: 300 });
    expect(histograms.tpotUs.n).toBe(2);
    expect([totals.steps, totals.requestSteps, endUs]).toEqual([6, 6, 2_000_200]);
  });

  it("adds what a fitted cost has found outside of steps to TTFT and E2E, and to no gap", () => {
    const { cost: _, ...rest } = options;
    const fitted = {
      schemaVersion: 1,
      coefficients: {
        stepUs: 100,
        freeTokens: 0,
        tokenUs: 0,
        prefillSequenceUs: 0,
        prefillPairUs: 0,
        prefillContextTokenUs: 0,
        decodeSequenceUs: 0,
        decodeContextTokenUs: 0,
      },
      requestUs: 5_000,
      fittedOn: { source: "test", requests: 10, undetermined: [] },
      error: [],
    } as const;
    const config = { ...ENGINE_DEFAULTS, cost: { kind: "fitted", fitted } as const };
    const done = replay({ ...rest, config });
    const { histograms, endUs } = done;
    expect(toResultRun(done, { ...rest, config }).conditions.setup.costModel).toBe("fitted");
    expect(histograms.ttftUs.toJSON()).toMatchObject({ min: 5_100, max: 5_100 });
    expect(histograms.itlUs.toJSON()).toMatchObject({ n: 3, sum: 300 });
    expect(histograms.e2eUs.toJSON()).toMatchObject({ min: 5_100, max: 5_300 });
    expect(endUs).toBe(2_000_200);
  });

  it("offers the same requests faster, and spreads them over replicas", () => {
    const fast = replay({ ...options, speed: 1e12 });
    expect(fast.endUs).toBe(300);
    const spread = replay({ ...options, speed: 1e12, replicas: 3 });
    expect(spread.totals.steps).toBe(6);
    expect(() => replay({ ...options, routing: "best" as never })).toThrow(/unknown routing/);
    expect(() => replay({ ...options, replicas: 32, routing: "prefix" })).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where: "replicas" }),
    );
    expect(replay({ ...options, replicas: 32, routing: "balanced" }).finished).toBe(3);
  });

  it("gives classes and tenants of the workload to the queue's order", () => {
    // One at a time: four wait behind one that is under way, and the last of them has the long answer.
    const odd = { ...work(1, 10, 50), priority: -1, tenant: "b" };
    const requests = [...[0, 1, 1, 1].map((atUs) => ({ ...work(atUs, 10, 1), tenant: "a" })), odd];
    const longestTtft = (order: OrderName) => {
      const config = { ...ENGINE_DEFAULTS, order, ageingUs: 0, sequencesMax: 1 };
      return replay({ ...options, requests, config }).histograms.ttftUs.toJSON().max;
    };
    expect(longestTtft("first-come")).toBe(99 + 400);
    // Whoever it goes before waits for all of its 50 steps.
    expect(longestTtft("priority")).toBe(99 + 5_000 + 300);
    expect(longestTtft("fair-share")).toBe(99 + 5_000 + 300);
  });

  it("counts what can never fit as refused and not as served, and what met its budgets against all offered", () => {
    const requests = [...options.requests, work(3_000_000, 20_000, 5)];
    const budgets = { ttftUs: 100, tpotUs: 99 };
    const done = replay({ ...options, requests }, budgets);
    expect(done.refused).toEqual({ MANX_REQUEST_NEVER_FITS: 1 });
    const run = toResultRun(done, { ...options, requests }, budgets);
    expect(run.counts).toMatchObject({ offered: 4, completed: 3, failed: 1 });
    expect(run.goodput).toMatchObject({ met: 1, shareOfOffered: 0.25 });
  });

  it("splits the wait for tokens that come together over them, and keeps the whole gap beside", () => {
    const speculation = { draftTokens: 2, acceptance: 1, draftShare: 0 };
    const config = { ...ENGINE_DEFAULTS, speculation };
    const requests = [work(0, 10, 8)];
    const done = replay({ ...options, requests, config });
    // A first token, then steps of 3, 3 and 1 tokens after gaps of 100 µs: 34 + 33 + 33 twice, and 100.
    const { itlUs, largestGapUs, tpotUs } = done.histograms;
    expect(itlUs.toJSON()).toMatchObject({ n: 7, sum: 300, min: 33, max: 100 });
    expect(largestGapUs.toJSON()).toMatchObject({ n: 1, min: 100 });
    expect(tpotUs.toJSON().sum).toBeCloseTo(300 / 7, 0);
    const { gauges, conditions } = toResultRun(done, { ...options, requests, config });
    expect(gauges.verificationTokens).toMatchObject({ value: 7 / 3, n: 3 });
    expect(gauges.draftAcceptance).toMatchObject({ value: 4 / 6, n: 6 });
    expect(conditions.setup.speculation).toContain("2 drafts, acceptance 1");
  });

  it("tells what swaps moved, and nothing of swaps where there are none", () => {
    // The casebook's SIM-01: two requests of 12 + 8 tokens in 8 blocks of 4. The second loses 16 computed tokens, and
    // finds them again in host memory if that has room for four blocks.
    const requests = [work(0, 12, 8), work(0, 12, 8)];
    const small = { ...ENGINE_DEFAULTS, kvTokens: 32, blockTokens: 4, preemption: "swap" } as const;
    const swapping = (hostTokens: number) => {
      const config = { ...small, hostMemoryBytes: hostTokens * 131_072 };
      const done = replay({ ...options, requests, config });
      return { done, gauges: toResultRun(done, { ...options, requests, config }).gauges };
    };
    const { done, gauges } = swapping(16);
    const values = Object.entries(gauges).filter(([name]) => name.startsWith("swap"));
    expect(Object.fromEntries(values.map(([name, { value }]) => [name, value]))).toEqual({
      swapOut: 1,
      swapIn: 1,
      swapDropped: 0,
      swapRefused: 0,
      swapOutTokens: 16,
      swapInTokens: 16,
    });
    expect(gauges.swapOut).toMatchObject({ n: done.totals.preemptions, unit: "count" });
    expect(swapping(12).gauges).toMatchObject({
      swapOut: { value: 0, n: 1 },
      swapRefused: { value: 1, n: 1 },
    });
    expect(toResultRun(replay(options), options).gauges.swapOut).toBeUndefined();
  });

  it("states what ranks on several hosts cost, and nothing of it where they are on one", () => {
    const far = { ranks: 16, allowCrossHost: true, link: "ethernet-25g" } as const;
    const config = { ...ENGINE_DEFAULTS, ...far };
    const { setup } = toResultRun(replay({ ...options, config }), {
      ...options,
      config,
    }).conditions;
    expect(setup.crossHostLoss).toMatch(/over ethernet-25g between 2 hosts: \+\d+\.\d ms on every/);
    expect(toResultRun(replay(options), options).conditions.setup).not.toHaveProperty(
      "crossHostLoss",
    );
  });

  it("sends to a cold replica too, which starts when it is ready and not before", () => {
    const requests = [work(0, 10, 1), work(0, 10, 1), work(900, 10, 1), work(900, 10, 1)];
    const cold = { ...options, requests, replicas: 2, fleet: { readyUs: [0, 1_000] } };
    const { histograms } = replay(cold);
    // Round robin: the second waits 1,000 µs for the start, the fourth 100, and both then share its first step.
    expect(histograms.ttftUs.toJSON()).toMatchObject({ n: 4, min: 100, max: 1_100, sum: 1_500 });
    const { conditions } = toResultRun(replay(cold), cold);
    expect([conditions.setup.readyS, conditions.temperature]).toEqual(["0, 0.001", "mixed"]);
    expect(() => replay({ ...cold, fleet: { readyUs: [0, 1, 2] } })).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where: "fleet.readyUs" }),
    );
  });

  it("loses the share that a neighbour or the hour takes, to the microsecond", () => {
    const shares = new Array<number>(24).fill(0.75);
    const half = { ...options, fleet: { hourly: { shares, startHour: 3 } } };
    expect(replay(half).histograms.ttftUs.toJSON()).toMatchObject({ n: 3, min: 400, max: 400 });
    const always = { share: 0.5, onUs: 1e12, offUs: 1e6 };
    const only = { ...options, replicas: 2, fleet: { neighbour: always, noisyReplicas: [1] } };
    const { histograms } = replay(only);
    expect(histograms.ttftUs.toJSON()).toMatchObject({ n: 3, min: 100, max: 200, sum: 400 });
    const setup = toResultRun(replay(only), only).conditions.setup;
    expect(setup.neighbour).toBe("takes 0.5 for 1000000 s in 1000001 s on replicas 1");
    expect(() => replay({ ...only, fleet: { neighbour: always, noisyReplicas: [2] } })).toThrow(
      expect.objectContaining({ where: "fleet.noisyReplicas" }),
    );
  });

  it("hands over between pools, and times what that takes as a phase of its own", () => {
    const pools = { prefill: 1, decode: 2, link: "roce-200g" as const };
    const split = { ...options, pools };
    const done = replay(split);
    // 10 tokens of 128 KiB at 20 GB/s, 8 µs to start with; the answer of one token moves nothing.
    const movedUs = 8 + Math.ceil((10 * 131_072) / 20_000);
    expect(done.histograms.handoverUs.toJSON()).toMatchObject({ n: 2, min: movedUs, max: movedUs });
    expect(done.histograms.ttftUs.toJSON()).toMatchObject({ n: 3, min: 100, max: 100 });
    expect(done.histograms.itlUs.toJSON()).toMatchObject({ n: 3, sum: 300 + 2 * movedUs });
    expect(done.histograms.queueUs.toJSON()).toMatchObject({ n: 3, max: 0 });
    const run = toResultRun(done, split);
    expect(run.gauges.transferUs).toMatchObject({ value: movedUs, n: 2 });
    expect(run.gauges.prefillBusyShare!.value).toBeCloseTo(300 / done.endUs, 9);
    expect(run.conditions.setup).toMatchObject({
      pools: "1 prefill + 2 decode over roce-200g",
      replicas: 3,
    });
    expect(toResultRun(replay(options), options).metrics.handoverUs).toBeUndefined();
    expect(() => replay({ ...split, fleet: {} })).toThrow(/fleet/);
  });
});
