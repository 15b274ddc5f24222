import { describe, expect, it } from "vitest";
import type { TurnRecord } from "../trace/index.ts";
import { turnRecord } from "../trace/index.ts";
import { checkBudget, checkTimes, SimWorld } from "./index.ts";
import { budgetMatchers } from "./vitest.ts";

expect.extend(budgetMatchers);

const MS = 1_000;

/** Turns of one model call, whose first output comes after `ttftsMs`, and of a tool that takes 100 ms. */
async function turns(ttftsMs: readonly number[], cold?: string): Promise<TurnRecord[]> {
  const world = new SimWorld();
  const records: TurnRecord[] = [];
  await world.run(async () => {
    for (const ttftMs of ttftsMs) {
      const trace = world.recorder();
      const call = trace.begin("model-call", "m", cold === undefined ? {} : { cold });
      await world.sleep(ttftMs * MS);
      call.event("output-start");
      call.event("output-visible");
      await world.sleep("50ms");
      call.end();
      await trace.span("tool-call", "t", () => world.sleep("100ms"), { after: [call] });
      records.push(turnRecord(trace.finish()));
    }
  });
  return records;
}

const EVEN = Array.from({ length: 200 }, (_, i) => 101 + i);

describe("checkBudget", () => {
  it("reads each metric off the turns, with n and an interval", async () => {
    const report = checkBudget(await turns(EVEN), {
      e2e: { p50: "350ms", p95: "441ms" },
      firstVisible: { p90: "280ms" },
      ttft: { p95: 289 * MS },
      phases: { tools: { p50: "100ms" }, prefill: { p90: "279.9ms" } },
    });
    expect(
      report.rows.map(({ metric, percentile, n, gotUs, verdict }) => [
        metric,
        percentile,
        n,
        gotUs / MS,
        verdict,
      ]),
    ).toEqual([
      ["e2e", "p50", 200, 350, "met"],
      ["e2e", "p95", 200, 440, "met"],
      ["firstVisible", "p90", 200, 280, "met"],
      ["ttft", "p95", 200, 290, "over"],
      ["phases.tools", "p50", 200, 100, "met"],
      ["phases.prefill", "p90", 200, 280, "over"],
    ]);
    expect(report.isMet).toBe(false);
    expect(report.text.split("\n")[3]).toBe(
      "OVER     ttft p95: 290 ms (284 ms to 297 ms), n 200, limit 289 ms",
    );
  });

  it("casebook CI-02: passes on no percentile that too few samples carry, and says how many it takes", async () => {
    const few = checkBudget(await turns([100, 100, 100, 100, 100]), { e2e: { p95: "10s" } });
    expect(few.isMet).toBe(false);
    expect(few.text).toBe(
      "too few  e2e p95: n 5, at least 200 for ten samples beyond it (limit 10.0 s)",
    );
    expect(checkTimes(new Array(199).fill(1), { p95: "1s" }).isMet).toBe(false);
    expect(checkTimes(new Array(200).fill(1), { p95: "1s" }).isMet).toBe(true);
    expect(checkBudget([], { e2e: { p50: "1s" } }).isMet).toBe(false);
    expect(checkBudget(await turns(EVEN), {}).isMet).toBe(false);
  });

  it("never mixes cold turns with warm ones", async () => {
    const all = [...(await turns(EVEN)), ...(await turns(new Array(30).fill(9_000), "deploy"))];
    const warm = checkBudget(all, { ttft: { p95: "300ms" } });
    expect([warm.isMet, warm.leftOut]).toEqual([true, { otherWarmth: 30, incomplete: 0 }]);
    expect(warm.text).toContain("30 turns left out: cold ones are judged apart");
    const cold = checkBudget(all, { turns: "cold", ttft: { p50: "8s" } });
    expect(cold.rows).toMatchObject([{ n: 30, verdict: "over" }]);
  });

  it("refuses a budget that cannot be", async () => {
    const some = await turns([1]);
    expect(() => checkBudget(some, { ttfd: { p50: "1s" } } as never)).toThrow(/ttfd/);
    expect(() => checkBudget(some, { ttft: { p97: "1s" } } as never)).toThrow(/p97/);
    expect(() => checkBudget(some, { ttft: { p50: "soon" } })).toThrow(/MANX_DURATION|duration/);
  });
});

describe("the matchers", () => {
  it("pass and fail as the report does", async () => {
    const all = await turns(EVEN);
    expect(all).toKeepBudget({ e2e: { p95: "441ms" } });
    expect(all).not.toKeepBudget({ e2e: { p95: "439ms" } });
    expect(EVEN).toKeepLimits({ p50: 200 });
    expect(() => expect(all).toKeepBudget({ e2e: { p95: "439ms" } })).toThrow(
      /OVER {5}e2e p95: 440 ms/,
    );
    expect(() => expect("no" as never).toKeepLimits({ p50: 1 })).toThrow(/a list/);
  });
});
