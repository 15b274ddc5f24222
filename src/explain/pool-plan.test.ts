import { describe, expect, it } from "vitest";
import { ENGINE_DEFAULTS, type EngineConfig } from "../engine/index.ts";
import { arrivalTimes, type WorkRequest } from "../load/index.ts";
import { type PoolPlanOptions, planPools } from "./pool-plan.ts";

const CONFIG: EngineConfig = { ...ENGINE_DEFAULTS, tokensMax: 8_192 };

/** Poisson arrivals of one shape. */
function work(ratePerS: number, promptTokens: number, outputTokens: number): WorkRequest[] {
  const times = arrivalTimes({ process: "poisson", ratePerS, durationUs: 60_000_000, seed: 3 });
  return [...times].map((atUs, row) => ({ atUs, promptTokens, outputTokens, row }));
}

function plan(part: Partial<PoolPlanOptions>): ReturnType<typeof planPools> {
  return planPools({
    config: CONFIG,
    engines: 4,
    link: "nvlink",
    requests: work(8, 8_000, 200),
    workload: "long prompts",
    limits: { ttftUs: 2_000_000, tpotUs: 20_000 },
    ...part,
  });
}

describe("planPools", () => {
  it("gives more engines to prefill the longer the prompts, and to decode the longer the answers", () => {
    const prefillOf = (requests: WorkRequest[]): number =>
      plan({ requests, limits: { ttftUs: 1_000_000, tpotUs: 12_000 } }).splits[0]!.pools!.prefill;
    const long = prefillOf(work(9, 8_000, 50));
    const wordy = prefillOf(work(12, 200, 1_500));
    expect(long).toBeGreaterThan(wordy);
    expect([long, wordy]).toEqual([3, 1]);
  });

  it("pays where prompts are long and the limit on decoding tight, and says by how much", () => {
    const { splitPays, splits, together, text } = plan({});
    expect(splitPays).toBe(true);
    expect(splits).toHaveLength(3);
    expect(splits[0]!.tpotP99Us).toBeLessThan(together.tpotP99Us);
    expect(text).toMatch(/^\d prefill \+ \d decode over nvlink: TTFT p99 .*; 4 engines, chunked/);
  });

  it("does not pay over a slow link, where the KV of a long prompt takes longer than its prefill", () => {
    const slow = plan({ link: "ethernet-25g" });
    expect(slow.splitPays).toBe(false);
    expect(slow.text).toMatch(/^4 engines, chunked prefill: /);
    const { decodeWaitUs } = slow.splits[0]!;
    expect(decodeWaitUs).toBeGreaterThan(plan({}).splits[0]!.decodeWaitUs);
  });

  it("shows which pool queues", () => {
    const { splits } = plan({});
    const starved = splits.find(({ pools }) => pools!.prefill === 1)!;
    expect(starved.prefillWaitUs).toBeGreaterThan(100 * starved.decodeWaitUs);
  });

  it("has something to split", () => {
    for (const engines of [1, 2.5, 17]) {
      expect(() => plan({ engines })).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where: "engines" }),
      );
    }
  });
});
