import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spreadTokens } from "./token-spread.ts";

const weights = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 50 });

describe("spreadTokens", () => {
  it("gives every chunk a token where there are enough, so that no gap stands in another's place", () => {
    const weights = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(weights, fc.nat(100), (characters, more) => {
        const counts = spreadTokens(characters.length + more, characters);
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(characters.length + more);
      }),
    );
  });

  it("sums to the total and stays within one of the exact share, but for the ends", () => {
    fc.assert(
      fc.property(fc.nat(5_000), weights, (total, some) => {
        const counts = spreadTokens(total, some);
        expect(counts.reduce((a, b) => a + b, 0)).toBe(total);
        expect(counts.every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
        const sum = some.reduce((a, b) => a + b, 0);
        if (sum === 0) return;
        const off = counts.map((count, i) => count - (total * some[i]!) / sum);
        // Two ends may each take a token from the richest chunk.
        expect(Math.max(...off)).toBeLessThanOrEqual(1);
        expect(Math.min(...off)).toBeGreaterThan(-3);
      }),
    );
  });

  it("sums to large totals too, where shares are rounded", () => {
    const large = fc.array(fc.nat(10_000_000), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 900_000_000, max: 1_000_000_000 }), large, (total, some) => {
        expect(spreadTokens(total, some).reduce((a, b) => a + b, 0)).toBe(total);
      }),
    );
  });

  it("gives the first and the last chunk a token where there are two", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 50 }), weights, (total, some) => {
        const counts = spreadTokens(total, some);
        expect(counts[0]).toBeGreaterThan(0);
        expect(counts.at(-1)).toBeGreaterThan(0);
      }),
    );
  });

  it.each([
    [11, [4, 4, 12, 8, 16], [1, 1, 3, 2, 4]],
    [3, [1, 1], [2, 1]],
    [2, [0, 9, 0], [1, 0, 1]],
    [1, [0, 9], [1, 0]],
    [4, [0, 0], [2, 2]],
    [0, [5, 5], [0, 0]],
  ])("of %i by %j is %j", (total, some, expected) => {
    expect(spreadTokens(total, some)).toEqual(expected);
  });
});
