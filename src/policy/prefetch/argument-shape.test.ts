import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filled, placesOf, shapeOf } from "./argument-shape.ts";

describe("the shape of arguments", () => {
  it("filled with its own values is what it was", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (args) => {
        const shaped = shapeOf(args);
        fc.pre(shaped !== undefined);
        expect(filled(shaped.shape, shaped.values)).toEqual(JSON.parse(JSON.stringify(args)));
        expect(placesOf(shaped.shape)).toBe(shaped.values.length);
      }),
    );
  });

  it("does not depend on the order of keys, and keeps a key of any name", () => {
    expect(shapeOf({ b: 1, a: "x" })).toEqual(shapeOf({ a: "x", b: 1 }));
    const odd = JSON.parse('{"__proto__": {"a": 1}}');
    expect(JSON.stringify(filled(shapeOf(odd)!.shape, [7]))).toBe('{"__proto__":{"a":7}}');
  });

  it("is none for what is too much, too deep or no JSON", () => {
    expect(shapeOf({ all: Array.from({ length: 17 }, () => 1) })).toBeUndefined();
    expect(shapeOf({ a: { b: { c: { d: { e: { f: {} } } } } } })).toBeUndefined();
    expect(shapeOf({ a: undefined })).toBeUndefined();
    expect(shapeOf({ a: Number.NaN })).toBeUndefined();
    for (const text of ["", "{", '{"a":1}', '{"b":0,"a":0}']) expect(placesOf(text)).toBeNaN();
  });
});
