/** Lanes and fair shares in front of simulated engines: the short form of bench/lanes.ts. */
import { describe, expect, it } from "vitest";
import {
  fifo,
  jainIndex,
  mixedArrivals,
  runLaneWorld,
  twoLanes,
  unequalArrivals,
} from "../../../test/support/lane-world.ts";
import type { Histogram } from "../../stats/index.ts";
import type { AdmissionOptions } from "./admission-options.ts";

const p50 = (histogram: Histogram): number => histogram.atRank(Math.ceil(0.5 * histogram.n));
const p99 = (histogram: Histogram): number => histogram.atRank(Math.ceil(0.99 * histogram.n));

describe("one request in twenty with 28,000 tokens", () => {
  const run = (longShare: number, admission: AdmissionOptions, perS = 10) =>
    runLaneWorld({
      arrivals: mixedArrivals({ seed: 1, perS, seconds: 400, longShare, longTokens: 28_000 }),
      engines: 4,
      engine: { contextMax: 32_768 },
      admission: { ...admission, ageMaxUs: 600_000_000 },
      shortTokens: 8_192,
    });

  it("makes the short ones' p99 many times worse in one queue, and hardly worse in lanes", () => {
    const without = p99(run(0, fifo(1_024)).short);
    const queued = run(0.05, fifo(1_024));
    const inLanes = run(0.05, twoLanes(1_024, 60_000));
    expect(queued.short.n).toBeGreaterThan(3_000);
    expect(p99(queued.short) / without).toBeGreaterThan(5);
    expect(p99(inLanes.short) / without).toBeLessThan(1.3);
    // The mark of head-of-line blocking: in one queue the long ones themselves are served as if they were alone.
    const alone = run(1, fifo(1_024), 0.5);
    expect(p50(queued.long) / p50(alone.long)).toBeLessThan(1.2);
    // All of them are served; what the long ones pay is a wait, not a refusal.
    expect(inLanes.refused).toBe(0);
    expect(inLanes.long.n).toBe(queued.long.n);
  });
});

describe("eight tenants, one of which sends half of all", () => {
  it("are served alike while they wait, which one queue does not do", () => {
    const share = (knowsTenants: boolean): number => {
      const arrivals = unequalArrivals(1, 100, 30, 8);
      const world = { arrivals, engines: 1, engine: {}, admission: fifo(64), shortTokens: 8_192 };
      return jainIndex([...runLaneWorld({ ...world, knowsTenants }).servedTokens.values()]);
    };
    expect(share(false)).toBeLessThan(0.6);
    expect(share(true)).toBeGreaterThanOrEqual(0.95);
  });
});
