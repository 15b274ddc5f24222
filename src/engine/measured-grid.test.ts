import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MeasuredGrid } from "./measured-grid.ts";
import { readTable } from "./measured-table.ts";

describe("a measured grid", () => {
  it("gives any function that is linear in each variable back exactly, inside and outside", () => {
    const f = (x: number, y: number): number => 3 + 2 * x + 5 * y + 0.5 * x * y;
    const rows = [0, 4, 16].flatMap((x) => [1, 2, 8, 32].map((y) => [x, y, f(x, y)]));
    const grid = new MeasuredGrid(rows);
    const place = fc.double({ min: 0, max: 64, noNaN: true });
    fc.assert(
      fc.property(place, place, (x, y) => {
        expect(grid.at(x, y)).toBeCloseTo(f(x, y), 6);
      }),
    );
  });

  it("stays between its neighbours inside and takes any order of rows", () => {
    const values = fc.uniqueArray(
      fc.tuple(fc.nat(1_000), fc.double({ min: 0, max: 1e6, noNaN: true })),
      { minLength: 2, maxLength: 20, selector: ([x]) => x },
    );
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (rows, share) => {
        const sorted = [...rows].sort(([a], [b]) => a - b);
        const x = sorted[0]![0] + share * (sorted.at(-1)![0] - sorted[0]![0]);
        const i = Math.max(
          0,
          sorted.findLastIndex(([place]) => place <= x),
        );
        const near = [sorted[i]![1], (sorted[i + 1] ?? sorted[i]!)[1]];
        const got = new MeasuredGrid(rows).at(x);
        expect(got).toBe(new MeasuredGrid([...rows].reverse()).at(x));
        expect(got).toBeGreaterThanOrEqual(Math.min(...near) * (1 - 1e-12) - 1e-9);
        expect(got).toBeLessThanOrEqual(Math.max(...near) * (1 + 1e-12) + 1e-9);
      }),
    );
  });

  it("ignores an axis that has a single value, and takes the mean of what was measured twice", () => {
    const grid = new MeasuredGrid([
      [0, 0, 7],
      [1, 10, 1],
      [1, 20, 2],
      [1, 20, 4],
    ]);
    expect(grid.at(0, 500)).toBe(7);
    expect(grid.at(1, 15)).toBe(2);
    expect(grid.at(1, 20)).toBe(3);
  });
});

describe("a table of measurements", () => {
  const columns = { names: ["layer"], numbers: ["tokens", "time_us"] };
  const read = (text: string): unknown => readTable({ name: "dense.csv", text }, columns);

  it("is read whatever the order of its columns, with others beside them", () => {
    expect(read("time_us,note,layer,tokens\r\n1.5,x,lm_head,4\r\n\r\n")).toEqual([
      { names: ["lm_head"], numbers: [4, 1.5] },
    ]);
  });

  it.each([
    ["layer,time_us\na,1", 'the table has no column "tokens"', "dense.csv:1"],
    ["layer,tokens,time_us\n", "the table has no rows", "dense.csv"],
    ["", 'the table has no column "layer"', "dense.csv:1"],
    ["layer,tokens,time_us\na,1,2\nb,1", "a cell that is no measurement", "dense.csv:3"],
    ["layer,tokens,time_us\na,1,fast", "a cell that is no measurement", "dense.csv:2"],
    ["layer,tokens,time_us\na,1,-2", "a cell that is no measurement", "dense.csv:2"],
    ["layer,tokens,time_us\na,1,", "a cell that is no measurement", "dense.csv:2"],
  ])("is refused as a whole if anything is missing: %j", (text, what, where) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: "MANX_TABLE_FORMAT",
        where,
        message: expect.stringContaining(what),
      }),
    );
  });
});
