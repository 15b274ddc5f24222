import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { msFixed, msJson } from "./ms-text.ts";

const us = fc.oneof(
  fc.nat(100_000_000),
  fc.integer({ min: -10_000, max: 10_000 }),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(0, -0, 999, 1_000, 1e15 - 1, 1e15, 1e15 + 1, Number.NaN),
);

describe("the text of a time", () => {
  it("is what JSON makes of its milliseconds", () => {
    fc.assert(fc.property(us, (us) => msJson(us) === JSON.stringify(us / 1_000)));
  });

  it("is what toFixed makes of them", () => {
    fc.assert(fc.property(us, (us) => msFixed(us) === (us / 1_000).toFixed(3)));
  });

  it("is right for each microsecond of the first milliseconds, and of the last that are exact", () => {
    const last = 1e15 - 3_000;
    for (let i = 0; i < 3_000; i += 1) {
      for (const us of [i, last + i]) {
        expect(msJson(us)).toBe(JSON.stringify(us / 1_000));
        expect(msFixed(us)).toBe((us / 1_000).toFixed(3));
      }
    }
  });
});
