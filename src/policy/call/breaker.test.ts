/** What a breaker may be told, by whom, and when. */
import { describe, expect, it } from "vitest";
import { Breaker } from "./breaker.ts";
import { CALL_POLICY } from "./call-policy.ts";

const S = 1_000_000;
const POLICY = { ...CALL_POLICY.breaker!, callsMin: 4, openUs: 5 * S };

function opened(): { breaker: Breaker; old: number } {
  const breaker = new Breaker(POLICY);
  const old = breaker.begin(0);
  for (let i = 0; i < 4; i += 1) breaker.end(breaker.begin(0), "failed", 0);
  expect(breaker.stateAt(0)).toBe("open");
  return { breaker, old };
}

describe("a breaker", () => {
  it("lets one probe through, and the next only when that has ended without a verdict", () => {
    const { breaker } = opened();
    expect(breaker.allows(5 * S - 1)).toBe(false);
    expect(breaker.allows(5 * S)).toBe(true);
    const probe = breaker.begin(5 * S);
    expect(breaker.allows(5 * S)).toBe(false);
    breaker.abstain(probe);
    expect(breaker.allows(5 * S)).toBe(true);
  });

  it.each(["good", "failed", undefined] as const)(
    "hears nothing from a call of before it opened: %s",
    (verdict) => {
      const { breaker, old } = opened();
      const probe = breaker.begin(5 * S);
      if (verdict === undefined) breaker.abstain(old);
      else breaker.end(old, verdict, 5 * S);
      expect([breaker.stateAt(5 * S), breaker.allows(5 * S)]).toEqual(["half-open", false]);
      breaker.end(probe, "good", 6 * S);
      expect(breaker.stateAt(6 * S)).toBe("closed");
    },
  );

  it("gives no vote to calls that it is used for though it is open", () => {
    const { breaker } = opened();
    breaker.end(breaker.begin(S), "good", 6 * S);
    expect(breaker.stateAt(6 * S)).toBe("half-open");
  });

  it("stays open twice as long after each failed probe, eightfold at most, and starts over once closed", () => {
    const { breaker } = opened();
    const openS = [];
    let nowUs = breaker.openUntilUs;
    for (let i = 0; i < 5; i += 1) {
      breaker.end(breaker.begin(nowUs), "failed", nowUs);
      openS.push((breaker.openUntilUs - nowUs) / S);
      nowUs = breaker.openUntilUs;
    }
    expect(openS).toEqual([10, 20, 40, 40, 40]);
    breaker.end(breaker.begin(nowUs), "good", nowUs);
    for (let i = 0; i < 4; i += 1) breaker.end(breaker.begin(nowUs), "failed", nowUs);
    expect(breaker.openUntilUs - nowUs).toBe(5 * S);
  });

  it("counts what breaks after its first content, without a second ballot", () => {
    const breaker = new Breaker(POLICY);
    for (let i = 0; i < 4; i += 1) {
      breaker.end(breaker.begin(0), "good", 0);
      breaker.broke(0);
    }
    expect(breaker.stateAt(0)).toBe("open");
    expect(breaker.opened).toBe(1);
  });

  it("forgets what is older than its window", () => {
    const breaker = new Breaker(POLICY);
    for (let i = 0; i < 40; i += 1) {
      breaker.end(breaker.begin(i * 12 * S), i % 4 === 0 ? "good" : "failed", i * 12 * S);
    }
    expect(breaker.opened).toBe(0);
  });

  it.each(["failed", "slow"] as const)(
    "opens for enough calls in a row that are %s, days apart",
    (verdict) => {
      const breaker = new Breaker(POLICY);
      const dayUs = 86_400 * S;
      for (let day = 0; day < 3; day += 1) {
        breaker.end(breaker.begin(day * dayUs), verdict, day * dayUs);
        expect(breaker.opened).toBe(0);
      }
      breaker.end(breaker.begin(3 * dayUs), verdict, 3 * dayUs);
      expect([breaker.opened, breaker.isForFailure]).toEqual([1, verdict === "failed"]);
    },
  );
});
