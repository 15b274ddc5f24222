import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LabelBook } from "./label-book.ts";

describe("LabelBook", () => {
  it("gives the same number to the same values, and one to each other set", () => {
    const book = new LabelBook(["a", "b"]);
    const sets = [
      ["x", "y"],
      ["y", "x"],
      ["x", ""],
      ["", "x"],
      ["xy", ""],
    ] as const;
    const indexes = sets.map(([a, b]) => book.at(a, b));
    expect(indexes).toEqual([0, 1, 2, 3, 4]);
    expect(sets.map(([a, b]) => book.at(a, b))).toEqual(indexes);
    expect(indexes.map((index) => book.labelsOf(index))).toEqual(sets.map(([a, b]) => ({ a, b })));
  });

  it("answers alike in whatever order, and however often, it is asked", () => {
    const value = fc.constantFrom("", "a", "b", "other");
    const ask = fc.tuple(value, value, value, value);
    fc.assert(
      fc.property(fc.array(ask), fc.integer({ min: 1, max: 12 }), (asks, setsMax) => {
        const book = new LabelBook(["w", "x", "y", "z"], setsMax);
        const numbers = new Map<string, number>();
        for (const values of asks) {
          const index = book.at(...values);
          const known = numbers.get(values.join());
          // Once its set has no number of its own, it is "other" for good.
          if (known !== undefined) expect(index).toBe(known);
          numbers.set(values.join(), index);
          const [w, x, y, z] = values;
          const other = { w: "other", x: "other", y: "other", z: "other" };
          const isOwn = numbers.size <= setsMax;
          expect([{ w, x, y, z }, ...(isOwn ? [] : [other])]).toContainEqual(book.labelsOf(index));
        }
      }),
    );
  });

  it("counts everything beyond its bound as other, and what it knew as before", () => {
    const book = new LabelBook(["tenant"], 3);
    const known = ["a", "b", "c"].map((tenant) => book.at(tenant));
    const later = Array.from({ length: 10_000 }, (_, i) => book.at(`tenant ${i}`));
    expect(new Set(later)).toEqual(new Set([3]));
    expect(book.labelsOf(3)).toEqual({ tenant: "other" });
    expect(["a", "b", "c"].map((tenant) => book.at(tenant))).toEqual(known);
    expect(book.at("other")).toBe(3);
  });
});
