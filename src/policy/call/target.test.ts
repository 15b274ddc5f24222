import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { type BreakerPolicy, CALL_POLICY } from "./call-policy.ts";
import { Target } from "./target.ts";
import { chooseTarget } from "./target-choice.ts";

const target = (order: number, breaker: BreakerPolicy | null = CALL_POLICY.breaker): Target =>
  new Target({ name: `t${order}`, order, weight: 1, sharesLimits: true, breaker });

/** Which of them a call goes to. */
const chosen = (targets: readonly Target[], nowUs: number): number =>
  chooseTarget(targets, { excluded: new Set(), nowUs }, new Random(1, "choice"));

describe("a breaker that is open at another gateway", () => {
  it("puts others first until then, and no longer", () => {
    const targets = [target(0), target(1)];
    targets[0]!.openedElsewhere(10 * US_PER_S);
    expect([9, 10].map((s) => chosen(targets, s * US_PER_S))).toEqual([1, 0]);
  });

  it("is no reason to refuse a call where there is no other target", () => {
    const only = target(0);
    only.openedElsewhere(10 * US_PER_S);
    expect(chosen([only], 0)).toBe(0);
  });

  it("says nothing about a target that needs no breaker", () => {
    const targets = [target(0, null), target(1)];
    targets[0]!.openedElsewhere(10 * US_PER_S);
    expect(chosen(targets, 0)).toBe(0);
  });
});

describe("a target that an operator has taken out", () => {
  it("gets no call, for want of a better one neither, until it is put back", () => {
    const targets = [target(0), target(1)];
    targets[0]!.isDrained = true;
    expect(chosen(targets, 0)).toBe(1);
    targets[1]!.isDrained = true;
    expect(chosen(targets, 0)).toBe(-1);
    expect(targets[0]!.availableUs).toBe(Number.POSITIVE_INFINITY);
    targets[0]!.isDrained = false;
    expect(chosen(targets, 0)).toBe(0);
  });
});
