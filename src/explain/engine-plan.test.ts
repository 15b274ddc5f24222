import { describe, expect, it } from "vitest";
import { Random } from "../clock/index.ts";
import type { WorkRequest } from "../load/index.ts";
import { type PlanOptions, planEngine, vllmFlags } from "./engine-plan.ts";

function poisson(
  n: number,
  perS: number,
  promptTokens: number,
  outputTokens: number,
): WorkRequest[] {
  const random = new Random(5, "plan");
  let atUs = 0;
  return Array.from({ length: n }, () => {
    atUs += Math.round(random.exponential(1e6 / perS));
    return { atUs, promptTokens, outputTokens, row: 0 };
  });
}

const base: PlanOptions = {
  model: "llama-3.1-8b",
  gpu: "h100-sxm",
  requests: poisson(600, 10, 500, 50),
  workload: "test",
  limits: { ttftUs: 500_000, itlUs: 50_000 },
  gpusMax: 16,
  contextMax: 1_024,
};

describe("planEngine", () => {
  it("takes one GPU where one is enough, and more only where it is not", () => {
    const easy = planEngine(base);
    expect(easy.met).toBe(true);
    expect(easy.candidates[0]!.gpus).toBe(1);
    expect(easy.candidates.length).toBeGreaterThanOrEqual(3);
    const hard = planEngine({ ...base, requests: poisson(600, 80, 1_500, 150), contextMax: 2_048 });
    expect(hard.met).toBe(true);
    expect(hard.candidates[0]!.gpus).toBeGreaterThan(1);
    const fewer = hard.candidates.filter(({ gpus }) => gpus < hard.candidates[0]!.gpus);
    expect(fewer.every(({ strain }) => strain > 1)).toBe(true);
  });

  it("orders what meets the limits by GPUs and then by strain", () => {
    const { candidates } = planEngine(base);
    const meeting = candidates.filter(({ strain }) => strain <= 1);
    expect(meeting.map(({ gpus }) => gpus)).toEqual(
      meeting.map(({ gpus }) => gpus).sort((a, b) => a - b),
    );
    expect(candidates.slice(0, meeting.length)).toEqual(meeting);
  });

  it("says that limits are out of reach instead of bending them", () => {
    const plan = planEngine({ ...base, limits: { itlUs: 1_000 }, gpusMax: 2 });
    expect(plan.met).toBe(false);
    expect(plan.candidates[0]!.strain).toBeGreaterThan(1);
  });

  it("skips parallelism that cannot exist, with the sum, and refuses if none can", () => {
    const plan = planEngine({ ...base, model: "llama-3.1-70b", requests: poisson(20, 1, 100, 5) });
    expect(plan.impossible[0]).toMatchObject({ ranks: 1 });
    expect(plan.candidates.every(({ config }) => config.ranks >= 2)).toBe(true);
    expect(() => planEngine({ ...base, model: "llama-3.1-70b", gpusMax: 1 })).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
    );
  });

  it("says how to set up vLLM like it", () => {
    expect(vllmFlags(planEngine(base).candidates[0]!)).toMatch(
      /--tensor-parallel-size 1 .*--max-model-len 1024/,
    );
  });
});
