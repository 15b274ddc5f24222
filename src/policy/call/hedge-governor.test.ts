import { describe, expect, it } from "vitest";
import { AttemptBudget } from "./attempt-budget.ts";
import { HEDGE_POLICY } from "./call-policy.ts";
import { HedgeGovernor } from "./hedge-governor.ts";
import { Target } from "./target.ts";

const MS = 1_000;
const options = { name: "t", order: 0, weight: 1, sharesLimits: true, breaker: null };

function governor(callsMax = 1_000): HedgeGovernor {
  const budget = new AttemptBudget({ share: 1, callsMax, fill: 1 });
  budget.earn(100, 0);
  return new HedgeGovernor(HEDGE_POLICY, budget);
}

describe("a governor of hedges", () => {
  it("waits for the percentile of such prompts, never less than its floor, and for ever while it knows too little", () => {
    const hedger = governor();
    const target = new Target(options);
    expect(hedger.delayUs(target, 100)).toBe(Number.POSITIVE_INFINITY);
    for (let i = 0; i < 100; i += 1) target.ttft.record(100, 10 * MS);
    expect(hedger.delayUs(target, 100)).toBe(HEDGE_POLICY.floorUs);
    for (let i = 0; i < 20; i += 1) target.ttft.record(5_000, 400 * MS);
    expect(hedger.delayUs(target, 5_000) / MS).toBeCloseTo(400, -2);
  });

  it("sends nothing to a target that looks slow as a whole, and something again after about ten good calls", () => {
    const hedger = governor();
    const [slow, well] = [new Target(options), new Target(options)];
    for (const target of [slow, well]) {
      for (let i = 0; i < 200; i += 1) target.ttft.record(100, (100 + i) * MS);
    }
    let nowUs = 0;
    const run = (target: Target, ttftUs: number): void => {
      const watched = hedger.watch(target, 100, nowUs)!;
      nowUs += ttftUs;
      watched.contentUs = nowUs;
      nowUs += 500 * MS;
    };
    run(slow, 400 * MS);
    expect(hedger.ask(slow, 100, nowUs)).toBeNull();
    for (let i = 0; i < 500; i += 1) run(slow, 400 * MS);
    expect(hedger.ask(slow, 100, nowUs)).toBe("saturated");
    expect(hedger.ask(well, 100, nowUs)).toBeNull();
    let good = 0;
    for (; hedger.isSaturated(slow, nowUs); good += 1) run(slow, 120 * MS);
    expect(good).toBeGreaterThanOrEqual(5);
    expect(good).toBeLessThanOrEqual(15);
    expect(hedger.refusals).toEqual({ saturated: 1, budget: 0 });
  });

  it("refuses a late call's own target sooner than another one: its silence is evidence itself", () => {
    const hedger = governor();
    const target = new Target(options);
    for (let i = 0; i < 200; i += 1) target.ttft.record(100, (100 + i) * MS);
    const delayUs = hedger.delayUs(target, 100);
    hedger.watch(target, 100, 0);
    expect(hedger.ask(target, 100, delayUs, true)).toBeNull();
    // Beside the late one, three that are silent for longer than three quarters of such prompts.
    for (const beganUs of [1_000, 1_500, 2_000])
      hedger.watch(target, 100, delayUs + beganUs - 260 * MS);
    expect(hedger.ask(target, 100, delayUs + 2_000, true)).toBe("saturated");
    expect(hedger.ask(target, 100, delayUs + 2_000)).toBeNull();
  });

  it("says no when its budget is spent", () => {
    const hedger = governor(2);
    const target = new Target(options);
    const answers = [1, 2, 3].map(() => hedger.ask(target, 100, 0));
    expect(answers).toEqual([null, null, "budget"]);
  });
});
