import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random } from "../clock/index.ts";
import { Histogram } from "./histogram.ts";
import { quantileRank } from "./quantile.ts";

const QUANTILES = [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999];
const anyValue = fc.oneof(
  fc.nat(5_000),
  fc.maxSafeNat(),
  fc.integer({ min: 2 ** 31 - 3, max: 2 ** 31 + 3 }),
  fc.integer({ min: 0, max: 42 }).map((bits) => 2 ** bits),
);

/** Two hundred of these add up below 2^53, so that sums are exact in any order. */
const summable = anyValue.map((value) => value % 2 ** 44);

function filled(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

describe("Histogram", () => {
  it("gives each order statistic back to within 0.05 %, at any size of value", () => {
    fc.assert(
      fc.property(fc.array(anyValue, { minLength: 1, maxLength: 200 }), (values) => {
        const sorted = [...values].sort((a, b) => a - b);
        const histogram = filled(values);
        for (let rank = 1; rank <= sorted.length; rank += 1) {
          const truth = sorted[rank - 1]!;
          expect(Math.abs(histogram.atRank(rank) - truth)).toBeLessThanOrEqual(truth / 2_048);
        }
        expect(histogram.min).toBe(sorted[0]);
        expect(histogram.max).toBe(sorted.at(-1));
      }),
    );
  });

  it("is within 0.1 % at p99.9 of a heavy-tailed million", () => {
    const random = new Random(7, "heavy tail");
    const values = Array.from({ length: 1_000_000 }, () =>
      Math.round(Math.exp(9 + 0.8 * random.normal()) * (random.next() < 0.02 ? 8 : 1)),
    );
    const histogram = filled(values);
    values.sort((a, b) => a - b);
    for (const q of QUANTILES) {
      const rank = quantileRank(q, values.length);
      const truth = values[rank - 1]!;
      expect(Math.abs(histogram.atRank(rank) / truth - 1)).toBeLessThan(0.001);
    }
  });

  it("merges to what one histogram of all values would be, in any grouping", () => {
    fc.assert(
      fc.property(fc.array(summable), fc.array(summable), (left, right) => {
        const merged = filled(left);
        merged.merge(filled(right));
        expect(merged.toJSON()).toEqual(filled([...left, ...right]).toJSON());
      }),
    );
  });

  it("survives JSON", () => {
    fc.assert(
      fc.property(fc.array(anyValue), (values) => {
        const json = filled(values).toJSON();
        expect(Histogram.fromJSON(JSON.parse(JSON.stringify(json))).toJSON()).toEqual(json);
      }),
    );
  });

  it("counts what lies at or below a limit", () => {
    const histogram = filled([10, 20, 30, 40]);
    expect(histogram.shareAtMost(9)).toBe(0);
    expect(histogram.shareAtMost(20)).toBe(0.5);
    expect(histogram.shareAtMost(40)).toBe(1);
  });

  it("refuses what cannot be a duration or a count", () => {
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
      expect(() => new Histogram().record(bad)).toThrow(/0 to 2\^53/);
    }
  });
});
