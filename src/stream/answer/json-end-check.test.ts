import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCutShort, JsonEndCheck } from "./json-end-check.ts";

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

  it("is of one mind however the text comes in pieces", () => {
    const escapes = fc.string({ unit: fc.constantFrom("\\", '"', "{", "]", "a") });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(escapes, fc.string(), fc.object())),
        fc.nat(),
        fc.array(fc.nat({ max: 7 }), { minLength: 1 }),
        (value, cut, lengths) => {
          const whole = Buffer.from(JSON.stringify(value));
          const text = whole.subarray(0, 1 + (cut % whole.length));
          const check = new JsonEndCheck();
          for (let at = 0, i = 0; at < text.length; i += 1) {
            const length = lengths[i % lengths.length]! + (i % 2);
            check.push(text.subarray(at, at + length));
            at += length;
          }
          expect(check.isCutShort).toBe(text.length < whole.length);
        },
      ),
    );
  });

  it("follows escaped quotes", () => {
    expect(isCutShort(Buffer.from('{"a":"\\\\"}'))).toBe(false);
    expect(isCutShort(Buffer.from('{"a":"\\"}'))).toBe(true);
  });
});
