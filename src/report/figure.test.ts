import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FigureUnit, formatFigure, formatPlain, isGrey, NO_FIGURE } from "./figure.ts";

const UNITS: readonly FigureUnit[] = ["us", "share", "per-s", "ratio", "bytes", "tokens", "count"];

describe("a figure", () => {
  it.each<[number, FigureUnit, string]>([
    [0, "us", "0 µs"],
    [999_499, "us", "999 ms"],
    [999_500, "us", "1.00 s"],
    [119_999_999, "us", "120 s"],
    [120_000_000, "us", "2 min 00 s"],
    [0, "share", "0 %"],
    [1, "share", "100 %"],
    [0.07, "share", "7 %"],
    [0.00684, "share", "0.68 %"],
    [0.9949, "share", "99.5 %"],
    [17.74, "per-s", "17.7/s"],
    [0.994, "per-s", "0.99/s"],
    [0.995, "per-s", "0.99/s"],
    [0.9951, "ratio", "1.00×"],
    [9.994, "ratio", "9.99×"],
    [1e-9, "share", "≈ 0 %"],
    [9.996, "ratio", "10.0×"],
    [99.96, "ratio", "100×"],
    [-0.05, "ratio", "-0.050×"],
    [1_023, "bytes", "1,023 B"],
    [1_024, "bytes", "1 KiB"],
    [1_048_575, "bytes", "1.00 MiB"],
    [3 * 2 ** 40, "bytes", "3 TiB"],
    [4_069_299, "count", "4,069,299"],
    [12.34, "tokens", "12.3"],
  ])("%d in %s is %s", (value, unit, text) => {
    expect(formatFigure(value, unit)).toBe(text);
  });

  it("of nothing is a dash in every unit", () => {
    for (const unit of UNITS) {
      for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY, -1 / 0]) {
        expect(formatFigure(value, unit)).toBe(NO_FIGURE);
      }
    }
  });

  it("never shows an exponent, nor what is no number", () => {
    const value = fc.double({ min: 0, max: 1e15, noNaN: true });
    fc.assert(
      fc.property(value, fc.constantFrom(...UNITS), (given, unit) => {
        expect(formatFigure(given, unit)).toMatch(
          /^(≈ )?[\d,]+(\.\d+)?( ?(µs|ms|s|%|\/s|×|[KMGT]?i?B)| min \d\d s)?$/,
        );
      }),
    );
  });
});

describe("a plain number", () => {
  it("is off by half a unit of its third digit at most, of its second below 1", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 1e12, noNaN: true }), (value) => {
        const shown = Number(formatPlain(value).replaceAll(",", ""));
        expect(Math.abs(shown - value) / value).toBeLessThanOrEqual(0.0501);
        if (value >= 1) expect(Math.abs(shown - value) / value).toBeLessThanOrEqual(0.00501);
      }),
    );
  });

  it("never falls while the value grows", () => {
    const pair = fc.tuple(
      fc.double({ min: 0, max: 2_000, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(pair, ([value, more]) => {
        const shown = (one: number): number => Number(formatPlain(one).replace(/[,≈ ]/g, ""));
        expect(shown(value + more)).toBeGreaterThanOrEqual(shown(value));
      }),
    );
  });
});

it("a percentile is grey from nine samples beyond down", () => {
  expect([0, 9, 10, 11].map(isGrey)).toEqual([true, true, false, false]);
});
