import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoTime } from "./clock.ts";

/** Of a Date; 8.64e15 ms from 1970 both ways. */
const LAST_MS = 8.64e15;

describe("isoTime", () => {
  it("is what Date makes of the same time, whatever was asked before", () => {
    const near = fc.integer({ min: -3_000, max: 3_000 });
    const time = fc.oneof(
      near,
      near.map((ms) => ms + Date.UTC(2026, 10, 30)),
      fc.integer({ min: -LAST_MS, max: LAST_MS }),
      fc.double({ min: -5_000, max: 5_000, noNaN: true }),
      fc.constantFrom(-LAST_MS, LAST_MS, Date.UTC(9999, 11, 31, 23, 59, 59, 999)),
    );
    fc.assert(
      fc.property(fc.array(time), (times) => {
        for (const ms of times) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
      }),
    );
  });

  it("refuses what is no time, and goes on with the next", () => {
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, LAST_MS + 1_000]) {
      expect(() => isoTime(ms)).toThrow(RangeError);
      expect(isoTime(1)).toBe("1970-01-01T00:00:00.001Z");
    }
  });
});
