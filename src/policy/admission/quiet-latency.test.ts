import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { QuietLatency } from "./quiet-latency.ts";
import { SizedLogs } from "./sized-logs.ts";

/** Two in five out of a cache, ten times as quick. */
function timesOf(random: Random, factor: number, count: number): [tokens: number, us: number][] {
  return Array.from({ length: count }, () => {
    const tokens = 100 + random.int(8_000);
    const cached = random.next() < 0.4 ? 0.1 : 1;
    return [tokens, Math.round((20_000 + tokens * 50) * cached * factor)];
  });
}

function known(random: Random): QuietLatency {
  const quiet = new QuietLatency();
  for (const [tokens, us] of timesOf(random, 1, 2_000)) quiet.record(tokens, us);
  return quiet;
}

const seed = fc.integer({ min: 1, max: 1_000_000 });

describe("a quiet latency", () => {
  it("finds by a probe that everything has shifted, by about how much, and measures by that", () => {
    fc.assert(
      fc.property(seed, fc.constantFrom(0.25, 3, 6), (seed, factor) => {
        const random = new Random(seed, "quiet");
        const quiet = known(random);
        quiet.beginProbe();
        for (const [tokens, us] of timesOf(random, factor, 100)) quiet.record(tokens, us);
        const shift = quiet.endProbe();
        expect(Math.abs(shift - Math.log(factor))).toBeLessThan(0.6);
        const after = new SizedLogs();
        for (const [tokens, us] of timesOf(random, factor, 400)) after.record(tokens, us);
        expect(Math.abs(quiet.excessOf(after).mean)).toBeLessThan(0.6);
      }),
    );
  });

  it("hardly ever takes chance for a shift, nor a handful for enough", () => {
    let shifts = 0;
    for (let i = 1; i <= 300; i += 1) {
      const random = new Random(i, "chance");
      const quiet = known(random);
      quiet.beginProbe();
      for (const [tokens, us] of timesOf(random, 1, 100)) quiet.record(tokens, us);
      if (quiet.endProbe() !== 0) shifts += 1;
      quiet.beginProbe();
      for (const [tokens, us] of timesOf(random, 9, 15)) quiet.record(tokens, us);
      expect(quiet.endProbe()).toBe(0);
    }
    expect(shifts).toBeLessThan(9);
  });

  it("holds each size against its own, whatever the mix", () => {
    const quiet = new QuietLatency();
    for (let i = 0; i < 50; i += 1) {
      quiet.record(100, 10_000);
      quiet.record(10_000, 400_000);
    }
    const large = new SizedLogs();
    for (let i = 0; i < 20; i += 1) large.record(10_000, 800_000);
    large.record(1_000_000, 1);
    const { mean, error, samples } = quiet.excessOf(large);
    expect([mean, samples]).toEqual([expect.closeTo(Math.log(2), 6), 20]);
    expect(error).toBeCloseTo(0, 5);
  });
});
