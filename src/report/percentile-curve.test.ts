import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Histogram, histogramQuantile } from "../stats/index.ts";
import { type CurvePoint, NINES_MAX, percentileCurve } from "./percentile-curve.ts";

function curveOf(values: readonly number[]) {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  const { buckets, ...rest } = histogram.toJSON();
  return { histogram, curve: percentileCurve({ ...rest, buckets: [...buckets] }) };
}

/** The beginning of each is checked by its neighbours: a curve is drawn from left to right and never falls. */
function isRising(points: readonly CurvePoint[]): boolean {
  return points.every((point, index) => {
    const before = points[index - 1];
    return before === undefined || (point.x > before.x && point.value >= before.value);
  });
}

const anyValues = fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 1, maxLength: 400 });

describe("the curve of a histogram", () => {
  it("runs from the least to the greatest value and never falls", () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const { curve } = curveOf(values);
        const all = [...curve.trusted, ...curve.thin];
        expect(all[0]!.value).toBe(Math.min(...values));
        expect(all.at(-1)!.value).toBe(Math.max(...values));
        expect(isRising(curve.trusted) && isRising(curve.thin)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("is trusted exactly as far as ten samples lie beyond", () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const { curve, histogram } = curveOf(values);
        const beyond = ({ x }: CurvePoint): number =>
          histogramQuantile(histogram, Math.max(1 - 10 ** -x, Number.EPSILON)).beyond;
        for (const point of curve.trusted) expect(beyond(point)).toBeGreaterThanOrEqual(10);
        const [first, ...thin] = curve.thin;
        for (const point of thin) expect(beyond(point)).toBeLessThan(10);
        // The dashed part begins on the solid one's end, or from the start if there is none.
        if (curve.trusted.length > 0) expect(first).toEqual(curve.trusted.at(-1));
        else expect(beyond(first!)).toBeLessThan(10);
      }),
      { numRuns: 100 },
    );
  });

  it("reads at p99 what the table says", () => {
    const { curve, histogram } = curveOf(Array.from({ length: 5_000 }, (_, i) => i * i));
    const near = curve.trusted.filter(({ x }) => Math.abs(x - 2) < 0.03);
    const { value } = histogramQuantile(histogram, 0.99);
    expect(near[0]!.value).toBeLessThanOrEqual(value);
    expect(near.at(-1)!.value).toBeGreaterThanOrEqual(value);
  });

  it("has no point if there is no sample, and no endless axis if there are many", () => {
    expect(curveOf([]).curve).toEqual({ trusted: [], thin: [] });
    const histogram = new Histogram();
    histogram.record(5, 10 ** 12);
    const { trusted } = percentileCurve({ ...histogram.toJSON(), buckets: [5, 10 ** 12] });
    expect(trusted.map(({ x }) => x)).toEqual([0, NINES_MAX]);
  });
});
