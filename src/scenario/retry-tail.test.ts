/** Golden scenario G3, played: the symptom without Manx, the cure with it, and by how much. */
import { describe, expect, it } from "vitest";
import { US_PER_S } from "../core/index.ts";
import { type RetryHand, retryTail, retryTailLines, type SlowBy } from "./retry-tail.ts";

const SIZE = { calls: 4_000, seed: 3 };
const seconds = (us: number): number => us / US_PER_S;

async function tail(hand: RetryHand, slowBy: SlowBy) {
  const made = await retryTail(hand, slowBy, SIZE);
  console.log(retryTailLines([made])[0]);
  expect(made.n).toBe(SIZE.calls);
  return made;
}

describe("three tries of 10 s on calls of 8 s at p50 and 18 s at p95", () => {
  it("take p95 to 31 s and p99 to 33 s and cost 1.43 times as much, where slowness is chance", async () => {
    const { p95, p99, costFactor, failShare } = await tail("naive", "chance");
    expect(Math.abs(seconds(p95.value) - 31.4)).toBeLessThan(0.8);
    expect(seconds(p99.value)).toBeCloseTo(33, 1);
    expect(costFactor).toBeCloseTo(1.43, 1);
    expect(Math.abs(failShare - 0.034)).toBeLessThan(0.01);
  });

  it("fail a third of all calls, where it lies in the prompts", async () => {
    const { costFactor, failShare } = await tail("naive", "nature");
    expect(Math.abs(failShare - 0.325)).toBeLessThan(0.03);
    expect(costFactor).toBeCloseTo(1.65, 1);
  });
});

describe("the same calls by modelFetch", () => {
  it.each<SlowBy>(["chance", "nature"])(
    "all end well, at their price, where they are slow by %s",
    async (slowBy) => {
      const { p95, p99, costFactor, failShare } = await tail("manx", slowBy);
      expect([costFactor, failShare]).toEqual([1, 0]);
      expect(Math.abs(seconds(p95.value) - 18)).toBeLessThan(1);
      expect(Math.abs(seconds(p99.value) - 25)).toBeLessThan(2);
    },
  );

  it("lose more of their tail to hedges, for at most 5 % more, where slowness is chance", async () => {
    const plain = await tail("manx", "chance");
    const hedged = await tail("manx, hedged", "chance");
    expect(hedged.failShare).toBe(0);
    expect(hedged.costFactor).toBeLessThanOrEqual(1.05);
    expect(hedged.p99.value).toBeLessThan(plain.p99.value);
    expect(seconds(hedged.p95.value)).toBeLessThan(19);
  });
});
