import { describe, expect, it } from "vitest";
import {
  GOLDEN_BRANCHES as BRANCHES,
  goldenBefore,
  goldenFanOut,
  goldenRows,
} from "../../../test/support/golden-fan-out.ts";
import { Random } from "../../clock/index.ts";
import { adviseFanOut } from "./advise-fan-out.ts";

const S = 1_000_000;

describe("advice on a fan-out", () => {
  it("golden G2: five branches with a hiccup of 1 % each are rejected; the straggler is retrieval", () => {
    const advice = adviseFanOut(goldenFanOut());
    const [p50, p95, p99] = advice.fanOut.map(({ value }) => value / S);
    const [before50, , before99] = advice.without.map(({ value }) => value / S);
    expect(advice.verdict).toBe("reject");
    expect(p50).toBeLessThan(before50!);
    expect(p95).toBeLessThan(5);
    expect(p99).toBeGreaterThan(21);
    expect(before99).toBeLessThan(4.2);
    expect(advice.straggler).toMatchObject({ part: "retrieval", n: expect.any(Number) });
    expect(advice.straggler!.partShare).toBeGreaterThan(0.9);
    expect(advice.straggler!.share).toBeLessThan(0.35);
    expect(advice.savings.at(-1)!.highUs).toBeLessThan(0);
    expect(advice.reasons[0]).toMatch(/^p99 gets worse: 4\.\d+ s → 2\d\.\d s \(saves -/);
    expect(advice.reasons[1]).toContain("which hides it");
  });

  it("accepts what is better at the guarded percentile, against one after the other", () => {
    const advice = adviseFanOut({
      branches: BRANCHES,
      rows: goldenRows(5_000),
      mergeUs: 0.5 * S,
    });
    expect(advice).toMatchObject({ verdict: "accept", comparedWith: "serial" });
    expect(advice.savings.every(({ lowUs }) => lowUs > 0)).toBe(true);
  });

  it("counts merging: what it saves, a slow merge takes away", () => {
    const rows = goldenRows(5_000);
    const before = goldenBefore(5_000).map((us) => us * 8);
    expect(adviseFanOut({ branches: BRANCHES, rows, before }).verdict).toBe("accept");
    const slow = adviseFanOut({ branches: BRANCHES, rows, before, mergeUs: 30 * S });
    expect(slow.verdict).toBe("reject");
  });

  it("rejects one that takes more tokens than it may, however fast", () => {
    const tokens = { fanOut: 29_000, before: 10_000 };
    const rows = goldenRows(5_000);
    const advice = adviseFanOut({ branches: BRANCHES, rows, tokens }, { tokensRatioMax: 2 });
    expect(advice.verdict).toBe("reject");
    expect(advice.tokensRatio).toBeCloseTo(2.9);
    expect(advice.reasons[0]).toContain("2.9×");
  });

  it("sees branches that are slow together: independence would predict a worse tail", () => {
    const together = adviseFanOut(
      { branches: BRANCHES, rows: goldenRows(10_000, true) },
      { guard: 0.98 },
    );
    expect(together.fanOut.at(-1)!.value).toBeLessThan(6 * S);
    expect(together.independentUs).toBeGreaterThan(20 * S);
    const apart = adviseFanOut({ branches: BRANCHES, rows: goldenRows(10_000) }, { guard: 0.98 });
    expect(apart.independentUs / apart.fanOut.at(-1)!.value).toBeCloseTo(1, 0);
    // Leaving the last one out cures what strikes one at a time, not what strikes all.
    expect(apart.withoutLastUs).toBeLessThan(6 * S);
    const guarded = adviseFanOut(
      { branches: BRANCHES, rows: goldenRows(10_000, true) },
      { guard: 0.995 },
    );
    expect(guarded.withoutLastUs).toBeGreaterThan(20 * S);
  });

  it("does not decide on too little, or on nothing", () => {
    const few = adviseFanOut({
      branches: BRANCHES,
      rows: goldenRows(500),
      before: goldenBefore(500),
    });
    expect(few.verdict).toBe("undecided");
    expect(few.reasons[0]).toContain("take at least 1000");
    const none = adviseFanOut({ branches: BRANCHES, rows: [] });
    expect(none).toMatchObject({ verdict: "undecided", straggler: null });
    const same = goldenRows(3_000);
    const before = same.map((row) => Math.max(...row.map(({ us }) => us)));
    expect(adviseFanOut({ branches: BRANCHES, rows: same, before }).verdict).toBe("undecided");
  });

  it("sets aside rows that are none, and says the same again for the same seed", () => {
    const rows = [...goldenRows(2_000), [1, 2], [1, 2, 3, 4, Number.NaN], [1, 2, 3, 4, -1]];
    const advice = adviseFanOut({ branches: BRANCHES, rows }, { seed: 7 });
    expect(advice.rowsSetAside).toBe(3);
    expect(adviseFanOut({ branches: BRANCHES, rows }, { seed: 7 })).toEqual(advice);
    const times = Array.from({ length: 40_001 }, (_, i) => [i, i]);
    expect(adviseFanOut({ branches: ["a", "b"], rows: times }).rowsLeftOut).toBe(20_001);
  });

  it("has an interval that holds the true saving about as often as it says", () => {
    let held = 0;
    for (let seed = 0; seed < 40; seed += 1) {
      const random = new Random(seed, "coverage");
      const rows = Array.from({ length: 2_000 }, () => [
        random.exponential(S),
        random.exponential(S),
      ]);
      const before = Array.from({ length: 600 }, () => random.exponential(3 * S));
      const { savings } = adviseFanOut(
        { branches: ["a", "b"], rows, before },
        { guard: 0.95, seed },
      );
      // Maximum of two exponentials: P(< x) = (1 − e^−x)².
      const truth = S * (-3 * Math.log(0.05) + Math.log(1 - Math.sqrt(0.95)));
      if (savings[1]!.lowUs <= truth && truth <= savings[1]!.highUs) held += 1;
    }
    expect(held).toBeGreaterThanOrEqual(33);
  });
});
