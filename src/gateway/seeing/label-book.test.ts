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
