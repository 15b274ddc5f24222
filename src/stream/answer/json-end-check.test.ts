import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCutShort } from "./json-end-check.ts";

describe("isCutShort", () => {
  it("says yes to every true prefix of an object or list, and no to the whole", () => {
    fc.assert(
      fc.property(
        fc.object(),
        fc.nat({ max: 3 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (value, indent, cut) => {
          const whole = Buffer.from(JSON.stringify([value], null, indent));
          expect(isCutShort(whole)).toBe(false);
          const at = 1 + Math.floor(cut * (whole.length - 2));
          expect(isCutShort(whole.subarray(0, at))).toBe(true);
        },
      ),
    );
  });

  it.each(["", "null", '"text', "12", "not JSON", "]"])("says nothing of %j", (text) => {
    expect(isCutShort(Buffer.from(text))).toBe(false);
  });

  it("follows escaped quotes", () => {
    expect(isCutShort(Buffer.from('{"a":"\\\\"}'))).toBe(false);
    expect(isCutShort(Buffer.from('{"a":"\\"}'))).toBe(true);
  });
});
