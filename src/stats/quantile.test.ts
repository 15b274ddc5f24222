import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random } from "../clock/index.ts";
import { Histogram } from "./histogram.ts";
import {
  histogramQuantile,
  intervalRanks,
  isTrusted,
  quantileRank,
  sampleQuantile,
} from "./quantile.ts";

/** P(Binomial(n, q) ≤ k) by the plain sum of exact products; an independent way to the same number. */
function binomialCdf(n: number, q: number, k: number): number {
  let sum = 0;
  for (let i = 0; i <= k; i += 1) {
    let term = 1;
    for (let j = 0; j < i; j += 1) term *= ((n - j) / (j + 1)) * q;
    sum += term * (1 - q) ** (n - i);
  }
  return sum;
}

describe("quantileRank", () => {
  it("is the nearest rank, without slips of floating point", () => {
    expect(quantileRank(0.95, 100)).toBe(95);
    expect(quantileRank(0.99, 100)).toBe(99);
    expect(quantileRank(0.5, 3)).toBe(2);
    expect(quantileRank(0.001, 5)).toBe(1);
    expect(quantileRank(0.95, 20)).toBe(19);
  });
});

describe("intervalRanks", () => {
  it("holds the quantile with at least the confidence, and no tighter interval does", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 120 }),
        fc.constantFrom(0.05, 0.5, 0.9, 0.95),
        (n, q) => {
          const { low, high } = intervalRanks(q, n);
          if (low !== null) expect(binomialCdf(n, q, low - 1)).toBeLessThanOrEqual(0.025 + 1e-12);
          expect(binomialCdf(n, q, low ?? 0)).toBeGreaterThan(0.025 - 1e-12);
          if (high !== null) {
            expect(1 - binomialCdf(n, q, high - 1)).toBeLessThanOrEqual(0.025 + 1e-12);
            expect(1 - binomialCdf(n, q, high - 2)).toBeGreaterThan(0.025 - 1e-12);
          }
        },
      ),
    );
  });

  it("covers the true p99 of 2,000 values in about 95 of 100 runs", () => {
    const random = new Random(3, "coverage");
    const truth = -Math.log(0.01);
    let covered = 0;
    for (let run = 0; run < 400; run += 1) {
      const values = Array.from({ length: 2_000 }, () => random.exponential(1)).sort(
        (a, b) => a - b,
      );
      const { low, high } = sampleQuantile(values, 0.99);
      if (low! <= truth && truth < high!) covered += 1;
    }
    expect(covered / 400).toBeGreaterThan(0.92);
  });

  it("has no upper end where n is too small for one", () => {
    expect(intervalRanks(0.999, 100).high).toBeNull();
    expect(intervalRanks(0.99, 1_000).high).not.toBeNull();
    expect(intervalRanks(0.5, 0)).toEqual({ low: null, high: null });
  });
});

describe("a quantile", () => {
  it("is trusted only with ten values beyond it", () => {
    const values = Array.from({ length: 1_000 }, (_, i) => i + 1);
    const p99 = sampleQuantile(values, 0.99);
    expect(p99).toMatchObject({ value: 990, n: 1_000, beyond: 10 });
    expect(isTrusted(p99)).toBe(true);
    expect(isTrusted(sampleQuantile(values.slice(0, 999), 0.99))).toBe(false);
  });

  it("of a histogram and of the values agree", () => {
    const histogram = new Histogram();
    const values = Array.from({ length: 500 }, (_, i) => i * 3);
    for (const value of values) histogram.record(value);
    expect(histogramQuantile(histogram, 0.9)).toEqual(sampleQuantile(values, 0.9));
  });

  it("of nothing is not a number and has n 0", () => {
    expect(sampleQuantile([], 0.5)).toMatchObject({ value: Number.NaN, n: 0, low: null });
  });
});
