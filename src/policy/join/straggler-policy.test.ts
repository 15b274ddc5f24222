import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { StragglerPolicy } from "./straggler-policy.ts";

/** One branch, hedged or not as the policy says; answers how many of the calls were hedged. */
function live(policy: StragglerPolicy, calls: number, durationUs: () => number): number {
  let hedged = 0;
  for (let i = 0; i < calls; i += 1) {
    const delayUs = policy.delayUs("b");
    const tookUs = durationUs();
    const wasLate = tookUs > delayUs;
    policy.note("b", wasLate);
    let endUs = tookUs;
    if (wasLate && policy.mayHedge("b")) {
      hedged += 1;
      endUs = Math.min(tookUs, delayUs + durationUs());
    }
    policy.record("b", endUs);
  }
  return hedged;
}

describe("hedging of stragglers", () => {
  it("waits until it knows the branch, then keeps to its share", () => {
    const policy = new StragglerPolicy();
    expect(policy.delayUs("b")).toBe(Number.POSITIVE_INFINITY);
    const random = new Random(1, "times");
    const hedged = live(policy, 20_000, () => 100_000 + random.int(100_000));
    expect(hedged).toBeGreaterThan(400);
    expect(hedged).toBeLessThanOrEqual(1_010);
    expect(policy.counts.hedged).toBe(hedged);
  });

  it("does not come ever sooner: rescued branches count as slow as they are known to be", () => {
    const policy = new StragglerPolicy({ share: 1 });
    const random = new Random(2, "times");
    live(policy, 20_000, () => 100_000 + random.int(100_000));
    // The true 95th percentile is 195 ms; buckets are 9 % wide.
    expect(policy.delayUs("b")).toBeGreaterThan(175_000);
  });

  it("stops while everything is slow", () => {
    const policy = new StragglerPolicy();
    const random = new Random(3, "times");
    live(policy, 2_000, () => 100_000 + random.int(50_000));
    expect(live(policy, 100, () => 1_000_000)).toBeLessThanOrEqual(3);
    expect(policy.counts.slow).toBeGreaterThan(0);
  });

  it("keeps no more names than it may", () => {
    const policy = new StragglerPolicy();
    for (let i = 0; i < 2_000; i += 1) {
      for (let k = 0; k < 25; k += 1) policy.record(`b${i}`, 100_000);
    }
    expect(policy.delayUs("b999")).toBeLessThan(Number.POSITIVE_INFINITY);
    expect(policy.delayUs("b1000")).toBe(Number.POSITIVE_INFINITY);
  });
});
