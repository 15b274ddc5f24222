/** LD-08: refusing requests improves the percentiles. */
import { describe, expect, it } from "vitest";
import type { Outcome, ResultRun } from "../../src/load/index.ts";
import { ScriptedTarget } from "../support/scripted-target.ts";
import { every, msAt, runVirtual } from "../support/virtual-load.ts";

const LIMIT_US = 1_000_000;

/** 90 requests take 10, 20, … 900 ms; every tenth fails as said. */
function runWith(afterUs: number, differs: Partial<Outcome>): Promise<ResultRun> {
  let successes = 0;
  return runVirtual(
    every(50_000, 100),
    (clock) =>
      new ScriptedTarget(clock, (index) => {
        if (index % 10 === 9) return { afterUs, differs };
        successes += 1;
        return { afterUs: successes * 10_000 };
      }),
    { budgets: { e2eUs: LIMIT_US }, timeoutUs: 30_000_000 },
  );
}

function expectHonest(run: ResultRun, failure: string): void {
  expect(run.metrics.e2eUs!.histogram.n).toBe(90);
  expect(msAt(run, "e2eUs", 0.5)).toBeCloseTo(450, 0);
  expect(Math.abs(msAt(run, "e2eUs", 0.95)! - 860)).toBeLessThan(1);
  expect(run.gauges.e2eP90AdjustedUs!.value! / 1_000).toBeCloseTo(900, 0);
  expect(run.gauges.e2eP95AdjustedUs).toMatchObject({
    value: null,
    n: 100,
    basis: expect.stringContaining("not met"),
  });
  expect(run.counts).toMatchObject({ offered: 100, completed: 90, failed: 10 });
  expect(run.counts.failures).toEqual({ [failure]: 10 });
  expect(run.gauges.errorRate!.value).toBe(0.1);
  expect(run.goodput).toMatchObject({ met: 90, shareOfOffered: 0.9 });
  const errors = run.verdicts.find(({ name }) => name === "errors");
  expect(errors).toMatchObject({ status: "unknown" });
  expect(errors!.text).toContain(`10 of 100 failed (${failure} 10)`);
}

describe("ten of a hundred requests fail", () => {
  it("as 429 after 5 ms: they are in no percentile of successes and last in the adjusted ones", async () => {
    expectHonest(await runWith(5_000, { failure: "http-429" }), "http-429");
  });

  it("as time-outs at 30 s: the same, and the adjusted figure says beyond what", async () => {
    const run = await runWith(30_000_000, { failure: "timeout" });
    expectHonest(run, "timeout");
    expect(run.gauges.e2eP95AdjustedUs!.basis).toContain("beyond 30000 ms");
  });

  it("as an error inside a 200 after three tokens: their TTFT is kept apart", async () => {
    const stream = {
      ttftUs: 1_000,
      ttfvtUs: 1_000,
      serviceTtftUs: 1_000,
      tpotUs: null,
      chunkGapsUs: [1_000, 1_000],
      itlUs: [1_000, 1_000],
      stalls: { count: 0, stalledUs: 0, worstGapUs: null },
    };
    const run = await runWith(5_000, { failure: "in-band-error", stream });
    expectHonest(run, "in-band-error");
    expect(run.metrics.failedTtftUs!.histogram.n).toBe(10);
    expect(run.metrics.ttftUs).toBeUndefined();
    expect(run.metrics.itlUs).toBeUndefined();
  });
});
