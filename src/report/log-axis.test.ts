import fc from "fast-check";
import { expect, it } from "vitest";
import { logAxis, onAxis, tickLabel } from "./log-axis.ts";

const value = fc.double({ min: 0, max: 1e15, noNaN: true });

it("holds what it is made for between round ends, with two to ten ticks inside", () => {
  fc.assert(
    fc.property(value, value, (one, other) => {
      const [least, most] = [Math.min(one, other), Math.max(one, other)];
      const axis = logAxis(least, most);
      expect(axis.low).toBeLessThanOrEqual(Math.max(1, least));
      expect(axis.high).toBeGreaterThanOrEqual(Math.max(1, most));
      expect(axis.high).toBeGreaterThan(axis.low);
      expect(axis.ticks.length).toBeGreaterThanOrEqual(2);
      expect(axis.ticks.length).toBeLessThanOrEqual(10);
      for (const tick of axis.ticks) {
        expect(tick >= axis.low && tick <= axis.high).toBe(true);
        expect(String(tick)).toMatch(/^[125]0*(e\+\d+)?$/);
      }
      expect(onAxis(axis, least)).toBeGreaterThanOrEqual(0);
      expect(onAxis(axis, most)).toBeLessThanOrEqual(1);
    }),
  );
});

it("gives each power of ten the same room", () => {
  const axis = logAxis(1_000, 1_000_000);
  expect([1_000, 10_000, 100_000, 1_000_000].map((at) => onAxis(axis, at))).toEqual([
    0,
    expect.closeTo(1 / 3),
    expect.closeTo(2 / 3),
    1,
  ]);
  expect(onAxis(axis, 0)).toBe(0);
});

it("names round durations without digits that say nothing", () => {
  expect([1, 500, 1_000, 20_000, 2_000_000, 500_000_000].map((us) => tickLabel(us, "us"))).toEqual([
    "1 µs",
    "500 µs",
    "1 ms",
    "20 ms",
    "2 s",
    "500 s",
  ]);
  expect(tickLabel(2_000, "tokens")).toBe("2,000");
});
