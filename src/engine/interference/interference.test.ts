import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HourlyLoad } from "./hourly-load.ts";
import { finishUs, type Interference, together } from "./interference.ts";
import { NoisyNeighbour } from "./noisy-neighbour.ts";

const HOUR_US = 3_600_000_000;
/** Half of the GPU in every second second. */
const seconds: Interference = {
  leftAt: (atUs) => (Math.floor(atUs / 1_000_000) % 2 === 0 ? 1 : 0.5),
  changesUs: (atUs) => (Math.floor(atUs / 1_000_000) + 1) * 1_000_000,
};

describe("finishUs", () => {
  it("is the end of the work alone as long as nobody interferes, and twice as far at half the speed", () => {
    expect(finishUs(seconds, 0, 1_000_000)).toBe(1_000_000);
    expect(finishUs(seconds, 1_000_000, 500_000)).toBe(2_000_000);
    expect(finishUs(seconds, 900_000, 200_000)).toBe(900_000 + 100_000 + 200_000);
    expect(finishUs(seconds, 1_900_000, 1_050_000)).toBe(3_000_000);
  });

  it("does the same for work in one piece or in two, one after the other", () => {
    const even = fc.integer({ min: 1, max: 2_000_000 }).map((half) => 2 * half);
    fc.assert(
      fc.property(fc.nat(5_000_000), even, even, (startUs, a, b) => {
        const inTwo = finishUs(seconds, finishUs(seconds, startUs, a), b);
        expect(Math.abs(finishUs(seconds, startUs, a + b) - inTwo)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("leaves each its share of what the others leave", () => {
    const both = together([seconds, seconds])!;
    expect(finishUs(both, 1_000_000, 250_000)).toBe(2_000_000);
    expect(together([])).toBeUndefined();
  });
});

describe("NoisyNeighbour", () => {
  const neighbour = { share: 0.6, onUs: 2_000_000, offUs: 8_000_000 };

  it("takes its share for its part of the time: planted and found again", () => {
    const one = new NoisyNeighbour(neighbour, 5);
    const workUs = 10_000;
    let busyUs = 0;
    let atUs = 0;
    for (let i = 0; i < 1_000_000; i += 1) {
      const endUs = finishUs(one, atUs, workUs);
      busyUs += endUs - atUs;
      atUs = endUs;
    }
    // Of each mean 10 s, 8 are whole and 2 leave 0.4: 8.8 s of work.
    expect((busyUs / (1_000_000 * workUs)) * 0.88).toBeCloseTo(1, 1);
  });

  it("repeats for a seed, and is another for another engine", () => {
    const ends = (seed: number, purpose: string): number[] => {
      const one = new NoisyNeighbour(neighbour, seed, purpose);
      return Array.from({ length: 50 }, (_, i) => finishUs(one, i * 3_000_000, 500_000));
    };
    expect(ends(1, "0")).toEqual(ends(1, "0"));
    expect(ends(1, "0")).not.toEqual(ends(1, "1"));
    expect(ends(1, "0")).not.toEqual(ends(2, "0"));
  });

  it("does not depend on how often it is asked", () => {
    const often = new NoisyNeighbour(neighbour, 3);
    for (let atUs = 0; atUs < 60_000_000; atUs += 1_000) often.leftAt(atUs);
    const once = new NoisyNeighbour(neighbour, 3);
    expect(once.changesUs(60_000_000)).toBe(often.changesUs(60_000_000));
  });

  it("leaves something", () => {
    for (const bad of [{ share: 1 }, { share: 0 }, { onUs: 0 }, { offUs: Number.NaN }]) {
      expect(() => new NoisyNeighbour({ ...neighbour, ...bad }, 1)).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
      );
    }
  });
});

describe("HourlyLoad", () => {
  const shares = Array.from({ length: 24 }, (_, hour) => (hour >= 9 && hour < 17 ? 0.5 : 0));

  it("changes at the hour, from the time of day at which the run starts, and comes again every day", () => {
    const load = new HourlyLoad({ shares, startHour: 8.5 });
    expect(load.changesUs(0)).toBe(HOUR_US / 2);
    expect([load.leftAt(HOUR_US / 2 - 1), load.leftAt(HOUR_US / 2)]).toEqual([1, 0.5]);
    expect(load.leftAt(8.5 * HOUR_US)).toBe(1);
    expect(load.leftAt(24.5 * HOUR_US)).toBe(0.5);
    expect(finishUs(load, 0, HOUR_US)).toBe(1.5 * HOUR_US);
  });

  it("never stands still, at whatever hour it starts", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 23.999, noNaN: true }),
        fc.nat(2 ** 40),
        (startHour, atUs) => {
          const load = new HourlyLoad({ shares, startHour });
          const nextUs = load.changesUs(atUs);
          expect(nextUs).toBeGreaterThan(atUs);
          expect(nextUs - atUs).toBeLessThanOrEqual(HOUR_US);
        },
      ),
    );
  });

  it("has a share for every hour", () => {
    for (const day of [
      { shares: [0.5], startHour: 0 },
      { shares: shares.map(() => 1), startHour: 0 },
      { shares, startHour: 24 },
    ]) {
      expect(() => new HourlyLoad(day)).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
      );
    }
  });
});
