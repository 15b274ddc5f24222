import { describe, expect, it } from "vitest";
import { Random } from "./random.ts";

function moments(draw: () => number, n = 200_000): { mean: number; cv: number } {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < n; i += 1) {
    const value = draw();
    sum += value;
    squares += value * value;
  }
  const mean = sum / n;
  return { mean, cv: Math.sqrt(squares / n - mean * mean) / mean };
}

describe("Random", () => {
  it("repeats itself for a seed and a purpose, and only for both", () => {
    const draws = (seed: number, purpose: string): number[] => {
      const random = new Random(seed, purpose);
      return Array.from({ length: 5 }, () => random.next());
    };
    expect(draws(42, "arrivals")).toEqual(draws(42, "arrivals"));
    expect(draws(42, "arrivals")).not.toEqual(draws(43, "arrivals"));
    expect(draws(42, "arrivals")).not.toEqual(draws(42, "lengths"));
    expect(draws(42, "arrivals")).not.toEqual(draws(42 + 2 ** 32, "arrivals"));
  });

  it("has the mean and the spread that its distributions are named for", () => {
    const random = new Random(1, "moments");
    const near = (actual: number, wanted: number): void => {
      expect(Math.abs(actual / wanted - 1)).toBeLessThan(0.02);
    };
    const exponential = moments(() => random.exponential(3));
    near(exponential.mean, 3);
    near(exponential.cv, 1);
    for (const shape of [0.111, 1, 4]) {
      const gamma = moments(() => random.gamma(shape, 5), 400_000);
      near(gamma.mean, 5);
      near(gamma.cv, 1 / Math.sqrt(shape));
    }
    near(moments(() => random.normal() + 10).mean, 10);
    near(moments(() => random.next()).mean, 0.5);
  });

  it("shuffles without loss", () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    const shuffled = new Random(9, "order").shuffle([...items]);
    expect(shuffled).not.toEqual(items);
    expect([...shuffled].sort((a, b) => a - b)).toEqual(items);
  });
});
