import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { argumentsText, textOf } from "./text-leaves.ts";

/** Deeper than the stack of a walk by calls would bear. */
const DEEP = 100_000;

function nested(depth: number, text: string): string {
  return "[".repeat(depth) + text + "]".repeat(depth);
}

describe("text that is nested", () => {
  it("is found at any depth, as the tool will see it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.boolean(), (depth, inObject) => {
        const hidden = nested(depth, '"\\u0062ad"');
        const json = inObject ? `{"a":${hidden}}` : hidden;
        expect(argumentsText("tool", json).split("\n")).toContain("bad");
      }),
    );
    expect(argumentsText("tool", nested(DEEP, '"\\u0062ad"')).endsWith("\nbad")).toBe(true);
    expect(textOf(JSON.parse(nested(DEEP, '"bad"')))).toBe("bad");
  });

  it("keeps the order in which it is written", () => {
    const value = [{ text: "a", more: ["b", { text: "c" }] }, "d", { arguments: '{"x":["e",1]}' }];
    expect(textOf(value).split("\n")).toEqual(["a", "b", "c", "d", '{"x":["e",1]}', "x", "e", "1"]);
  });
});
