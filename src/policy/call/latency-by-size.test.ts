import { describe, expect, it } from "vitest";
import { LatencyBySize } from "./latency-by-size.ts";
import { RecentQuantile } from "./recent-quantile.ts";

const MS = 1_000;

describe("times by size of prompt", () => {
  it("say nothing before there are twenty", () => {
    const times = new LatencyBySize();
    for (let i = 0; i < 19; i += 1) times.record(100, 50 * MS);
    expect(times.quantileUs(100, 0.5)).toBeNaN();
    times.record(100, 50 * MS);
    expect(times.quantileUs(100, 0.5) / MS).toBeCloseTo(50, -1);
  });

  it("are lent by larger prompts and never by smaller ones", () => {
    const times = new LatencyBySize();
    for (let i = 0; i < 20; i += 1) {
      times.record(100, 50 * MS);
      times.record(20_000, 2_000 * MS);
    }
    expect(times.quantileUs(1_000, 0.5) / MS).toBeGreaterThan(1_800);
    expect(times.quantileUs(100, 0.5) / MS).toBeLessThan(60);
    expect(times.quantileUs(100_000, 0.5)).toBeNaN();
  });
});

describe("a recent quantile", () => {
  it("is within a bucket of the true one", () => {
    const recent = new RecentQuantile(1e9);
    for (let i = 1; i <= 1_000; i += 1) recent.record(i * MS);
    for (const share of [0.1, 0.5, 0.95]) {
      expect(recent.quantileUs(share) / (share * 1_000 * MS)).toBeGreaterThan(0.95);
      expect(recent.quantileUs(share) / (share * 1_000 * MS)).toBeLessThan(1.06);
    }
  });

  it("forgets: what was goes, over any number of samples", () => {
    const recent = new RecentQuantile(100);
    for (let i = 0; i < 10_000; i += 1) recent.record(900 * MS);
    for (let i = 0; i < 500; i += 1) recent.record(10 * MS);
    expect(recent.quantileUs(0.95) / MS).toBeLessThan(11);
    for (let i = 0; i < 50; i += 1) recent.record(900 * MS);
    expect(recent.quantileUs(0.8) / MS).toBeGreaterThan(850);
  });

  it("bears durations out of its range", () => {
    const recent = new RecentQuantile(10);
    for (const us of [0, 1, 1e18]) recent.record(us);
    expect(recent.quantileUs(0)).toBeGreaterThan(0);
    expect(Number.isFinite(recent.quantileUs(1))).toBe(true);
  });
});
