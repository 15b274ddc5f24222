import { describe, expect, it } from "vitest";
import { toManxError } from "../core/index.ts";
import { ArrivalCheck } from "./arrival-check.ts";
import { type ArrivalOptions, arrivalTimes, describeArrivals } from "./arrivals.ts";

function times(options: Partial<ArrivalOptions>): number[] {
  return [
    ...arrivalTimes({
      process: "poisson",
      ratePerS: 100,
      durationUs: 100e6,
      seed: 1,
      ...options,
    }),
  ];
}

/** Index of dispersion of the counts in windows of this length. */
function dispersion(atUs: readonly number[], windowUs: number, durationUs: number): number {
  const check = new ArrivalCheck(windowUs);
  for (const one of atUs) check.add(one);
  return check.finish(durationUs).dispersion!;
}

/** Largest distance between the gaps' distribution and an exponential one of this mean. */
function distanceFromExponential(atUs: readonly number[], meanUs: number): number {
  const gaps = atUs.slice(1).map((one, i) => one - atUs[i]!);
  gaps.sort((a, b) => a - b);
  return gaps.reduce((most, gap, i) => {
    const expected = 1 - Math.exp(-gap / meanUs);
    return Math.max(
      most,
      Math.abs(expected - i / gaps.length),
      Math.abs(expected - (i + 1) / gaps.length),
    );
  }, 0);
}

describe("constant", () => {
  it("is exact over the whole run, at a rate that no microsecond divides", () => {
    const atUs = times({ process: "constant", ratePerS: 3, durationUs: 10_000e6 });
    expect(atUs).toHaveLength(30_000);
    expect(atUs.slice(0, 4)).toEqual([0, 333_333, 666_666, 1_000_000]);
    expect(atUs.at(-1)).toBe(9_999_666_666);
    expect(dispersion(atUs, 10e6, 10_000e6)).toBeLessThan(0.01);
  });
});

describe("Poisson", () => {
  const durationUs = 2_000e6;
  const atUs = times({ durationUs, seed: 42 });

  it("has a dispersion of 1 within 5 % in short windows and in long ones", () => {
    for (const windowUs of [10_000, 100_000, 500_000]) {
      expect(Math.abs(dispersion(atUs, windowUs, durationUs) - 1), `${windowUs}`).toBeLessThan(
        0.05,
      );
    }
  });

  it("has exponential gaps (Kolmogorov-Smirnov at 1 %)", () => {
    expect(distanceFromExponential(atUs, 10_000)).toBeLessThan(1.63 / Math.sqrt(atUs.length));
  });

  it("is not rescaled: the count of a run and of its half vary as a Poisson process has it", () => {
    const counts = Array.from(
      { length: 400 },
      (_, seed) => times({ seed, durationUs: 1e6 }).length,
    );
    const mean = counts.reduce((sum, n) => sum + n, 0) / counts.length;
    const variance = counts.reduce((sum, n) => sum + (n - mean) ** 2, 0) / (counts.length - 1);
    expect(mean).toBeGreaterThan(98);
    expect(mean).toBeLessThan(102);
    // The variance estimate of 400 draws has a standard error of 7 %; a rescaled process has 0.
    expect(variance / mean).toBeGreaterThan(0.75);
    expect(variance / mean).toBeLessThan(1.3);
  });
});

describe("gamma", () => {
  it("tends to a dispersion of CV² in windows of many arrivals", () => {
    const durationUs = 20_000e6;
    const atUs = times({ process: "gamma", cv: 3, durationUs, seed: 42 });
    expect(Math.abs(atUs.length / 2e6 - 1)).toBeLessThan(0.02);
    expect(Math.abs(dispersion(atUs, 2e6, durationUs) / 9 - 1)).toBeLessThan(0.05);
    const gaps = atUs.slice(1).map((one, i) => one - atUs[i]!);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(3, 1);
  });

  it("with a CV of 1 is a Poisson process", () => {
    const durationUs = 2_000e6;
    const atUs = times({ process: "gamma", cv: 1, durationUs, seed: 3 });
    expect(distanceFromExponential(atUs, 10_000)).toBeLessThan(1.63 / Math.sqrt(atUs.length));
  });
});

it("repeats with a seed and differs with another", () => {
  expect(times({ seed: 5 })).toEqual(times({ seed: 5 }));
  expect(times({ seed: 5 })).not.toEqual(times({ seed: 6 }));
});

it("lies in the run, in order, in whole microseconds", () => {
  for (const process of ["constant", "poisson", "gamma"] as const) {
    const atUs = times({ process, durationUs: 5e6 });
    expect(atUs.every((one, i) => Number.isSafeInteger(one) && one >= (atUs[i - 1] ?? 0))).toBe(
      true,
    );
    expect(atUs.at(-1)!).toBeLessThan(5e6);
  }
});

it("names the processes there are", () => {
  try {
    times({ process: "gama" as "gamma" });
    expect.unreachable();
  } catch (thrown) {
    expect(toManxError(thrown)).toMatchObject({
      code: "MANX_NAME_UNKNOWN",
      hint: 'did you mean "gamma"?',
    });
  }
});

it("describes itself", () => {
  const rest = { ratePerS: 20, durationUs: 1, seed: 1 };
  expect(describeArrivals({ process: "gamma", ...rest })).toBe("gamma, CV 3, 20/s");
  expect(describeArrivals({ process: "poisson", ...rest })).toBe("poisson, 20/s");
});

it("says nothing of the dispersion of a few windows", () => {
  const check = new ArrivalCheck(1_000);
  check.add(5);
  expect(check.finish(10_000)).toEqual({ ratePerS: 100, dispersion: null, windows: 10 });
});
