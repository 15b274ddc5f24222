import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { METRIC_LABELS, type ResultDistribution, toDistribution } from "../load/index.ts";
import { Histogram } from "../stats/index.ts";
import { hdrPlot, legendMark } from "./hdr-plot.ts";

function metricOf(valuesUs: readonly number[]): ResultDistribution {
  const histogram = new Histogram();
  for (const value of valuesUs) histogram.record(value);
  return toDistribution(histogram, METRIC_LABELS.ttftUs);
}

function plotOf(...lines: readonly (readonly number[])[]): string {
  return hdrPlot(
    "TTFT",
    lines.map((values, series) => ({ series, metric: metricOf(values) })),
  ).text;
}

type Point = readonly [x: number, y: number];

/** The points of each line of a kind: "line" is trusted, "thin" is not. */
function polylines(svg: string, kind: "line" | "thin"): Point[][] {
  return [...svg.matchAll(new RegExp(`<path class="${kind}" d="M([^"]*)"`, "g"))].map(([, path]) =>
    path!.split("L").map((point): Point => {
      const [x, y] = point.split(" ").map(Number);
      return [x!, y!];
    }),
  );
}

/** The edges that the grid's own lines end at. */
function frameOf(svg: string): { left: number; right: number; top: number; bottom: number } {
  const [, top, bottom] = /class="grid" d="M[\d.]+ ([\d.]+)V([\d.]+)"/.exec(svg)!;
  const [, left, right] = /class="grid" d="M([\d.]+) [\d.]+H([\d.]+)"/.exec(svg)!;
  return { left: Number(left), right: Number(right), top: Number(top), bottom: Number(bottom) };
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => 1_000 * (i + 1));

describe("a percentile plot", () => {
  it("rises from left to right and stays in its frame, whatever the samples", () => {
    const samples = fc.array(fc.oneof(fc.nat(50), fc.nat(9e6), fc.nat(2 ** 52)), {
      minLength: 2,
      maxLength: 300,
    });
    fc.assert(
      fc.property(samples, samples, (first, second) => {
        const svg = plotOf(first, second);
        const { left, right, top, bottom } = frameOf(svg);
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        for (const points of [...polylines(svg, "line"), ...polylines(svg, "thin")]) {
          for (const [index, [x, y]] of points.entries()) {
            expect(x >= left && x <= right && y >= top && y <= bottom).toBe(true);
            const [before, below] = points[index - 1] ?? [x, y];
            expect(x).toBeGreaterThanOrEqual(before);
            // SVG counts y from the top.
            expect(y).toBeLessThanOrEqual(below);
          }
        }
      }),
    );
  });

  it("is drawn thin from where fewer than ten samples lie beyond", () => {
    const svg = plotOf(upTo(1_000));
    const [trusted] = polylines(svg, "line");
    const [thin] = polylines(svg, "thin");
    expect(thin![0]).toEqual(trusted!.at(-1));
    // 990 of 1,000 is p99: two of its three nines.
    const nines = (thin!.at(-1)![0] - trusted![0]![0]) / (3 + 0.1);
    expect((trusted!.at(-1)![0] - trusted![0]![0]) / nines).toBeCloseTo(2, 1);
  });

  it("is all grey below eleven samples", () => {
    expect(polylines(plotOf(upTo(10)), "line")).toEqual([]);
    expect(polylines(plotOf(upTo(10)), "thin")).toHaveLength(1);
  });

  it("draws each power of ten and the median below it, with its unit on the other axis", () => {
    const svg = plotOf(upTo(2_000));
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts).toEqual(expect.arrayContaining(["50", "90", "99", "99.9", "percentile"]));
    expect(texts.filter((text) => / (µs|ms|s)$/.test(text!)).length).toBeGreaterThan(2);
  });

  it("of one sample, of equal ones and of none does not break", () => {
    for (const values of [[5_000], Array.from({ length: 500 }, () => 5_000), [0], [0, 0]]) {
      const svg = plotOf(values);
      expect(svg).toMatch(/^<svg [^>]*role="img"/);
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    }
    expect(plotOf([])).toBe("");
    expect(plotOf()).toBe("");
  });

  it("leaves out a run without samples and keeps the others' colours", () => {
    const svg = plotOf([], upTo(50));
    expect(svg).not.toContain('class="s0"');
    expect(svg).toContain('class="s1"');
  });

  it("draws a value on the grid line that is labelled with it", () => {
    const svg = plotOf(
      Array.from({ length: 500 }, () => 20_000),
      Array.from({ length: 500 }, () => 50_000),
    );
    const lines = svg.matchAll(/class="grid" d="M[\d.]+ ([\d.]+)H[\d.]+"\/><text[^>]*>([^<]*)</g);
    const labelled = new Map([...lines].map(([, y, label]) => [label, Number(y)]));
    const [lower, upper] = polylines(svg, "line");
    expect(lower![0]![1]).toBe(labelled.get("20 ms"));
    expect(upper![0]![1]).toBe(labelled.get("50 ms"));
  });

  it("shows equal samples as a level line, not as nothing", () => {
    const [points] = polylines(plotOf(Array.from({ length: 500 }, () => 5_000)), "line");
    expect(points!.length).toBeGreaterThanOrEqual(2);
    expect(new Set(points!.map(([, y]) => y)).size).toBe(1);
  });

  it("tells lines apart by mark as well as by colour", () => {
    const marks = [0, 1, 2, 3, 4, 5].map((series) => legendMark(series).text);
    const shapes = marks.map((mark) => /class="mark" d="([^"]*)"/.exec(mark)![1]);
    expect(new Set(shapes).size).toBe(6);
  });
});
