import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { CALL_POLICY } from "./call-policy.ts";
import { Target } from "./target.ts";
import { chooseTarget } from "./target-choice.ts";

const NONE: ReadonlySet<number> = new Set();

function target(order: number, weight = 1): Target {
  return new Target({
    name: "t",
    order,
    weight,
    sharesLimits: true,
    breaker: { ...CALL_POLICY.breaker!, callsMin: 2, slowUs: 10 },
  });
}

/** Opens its breaker. */
function make(verdict: "failed" | "slow", one: Target): Target {
  for (let i = 0; i < 2; i += 1) one.end(one.begin(0), verdict, 0);
  return one;
}

function chosen(targets: readonly Target[], excluded = NONE, draws = 1_000): number[] {
  const random = new Random(1, "choice");
  const counts = new Array<number>(targets.length).fill(0);
  for (let i = 0; i < draws; i += 1) {
    const at = chooseTarget(targets, { excluded, nowUs: 1 }, random);
    if (at >= 0) counts[at]! += 1;
  }
  return counts;
}

describe("the choice of a target", () => {
  it("is the lowest order that has a usable one", () => {
    expect(chosen([target(1), target(0), target(2)])).toEqual([0, 1_000, 0]);
    expect(chosen([target(1), target(0), target(2)], new Set([1]))).toEqual([1_000, 0, 0]);
  });

  it("is by weight within an order", () => {
    const [heavy, light, none] = chosen([target(0, 9), target(0, 1), target(1, 9)]);
    expect(light).toBeGreaterThan(60);
    expect(light).toBeLessThan(145);
    expect([light! + heavy!, none]).toEqual([1_000, 0]);
  });

  it("prefers a well one of a later order to a slow one, and a slow one to none", () => {
    expect(chosen([make("slow", target(0)), target(1)])).toEqual([0, 1_000]);
    expect(chosen([make("slow", target(0)), make("failed", target(1))])).toEqual([1_000, 0]);
    expect(chosen([make("slow", target(0))])).toEqual([1_000]);
  });

  it("is none where all are broken, excluded or have asked for a pause", () => {
    const paused = target(0);
    paused.cool(10);
    const slowAndPaused = make("slow", target(0));
    slowAndPaused.cool(10);
    const all = [make("failed", target(0)), paused, slowAndPaused, target(0)];
    expect(chosen(all, new Set([3]))).toEqual([0, 0, 0, 0]);
  });

  it("does not heed a pause that was asked of one caller's own key", () => {
    const own = new Target({ name: "t", order: 0, weight: 1, sharesLimits: false, breaker: null });
    own.cool(10);
    expect(chosen([own])).toEqual([1_000]);
  });
});
