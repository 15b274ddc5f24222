import { describe, expect, it } from "vitest";
import { Random } from "../clock/index.ts";
import type { FittedCostText } from "../engine/index.ts";
import type { WorkRequest } from "../load/index.ts";
import { engineFlags } from "./engine-flags.ts";
import { type PlanOptions, planEngine } from "./engine-plan.ts";

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
  it("takes one GPU where one is enough, and more only where it is not", async () => {
    const easy = await planEngine(base);
    expect(easy.met).toBe(true);
    expect(easy.candidates[0]!.gpus).toBe(1);
    expect(easy.candidates.length).toBeGreaterThanOrEqual(3);
    const hard = await planEngine({
      ...base,
      requests: poisson(600, 80, 1_500, 150),
      contextMax: 2_048,
    });
    expect(hard.met).toBe(true);
    expect(hard.candidates[0]!.gpus).toBeGreaterThan(1);
    const fewer = hard.candidates.filter(({ gpus }) => gpus < hard.candidates[0]!.gpus);
    expect(fewer.every(({ strain }) => strain > 1)).toBe(true);
  });

  it("orders what meets the limits by GPUs and then by strain", async () => {
    const { candidates } = await planEngine(base);
    const meeting = candidates.filter(({ strain }) => strain <= 1);
    expect(meeting.map(({ gpus }) => gpus)).toEqual(
      meeting.map(({ gpus }) => gpus).sort((a, b) => a - b),
    );
    expect(candidates.slice(0, meeting.length)).toEqual(meeting);
  });

  it("says that limits are out of reach instead of bending them", async () => {
    const plan = await planEngine({ ...base, limits: { itlUs: 1_000 }, gpusMax: 2 });
    expect(plan.met).toBe(false);
    expect(plan.candidates[0]!.strain).toBeGreaterThan(1);
  });

  it("skips parallelism that cannot exist, with the sum, and refuses if none can", async () => {
    const plan = await planEngine({
      ...base,
      model: "llama-3.1-70b",
      requests: poisson(20, 1, 100, 5),
    });
    expect(plan.impossible[0]).toMatchObject({ ranks: 1 });
    expect(plan.candidates.every(({ config }) => config.ranks >= 2)).toBe(true);
    await expect(planEngine({ ...base, model: "llama-3.1-70b", gpusMax: 1 })).rejects.toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
    );
  });

  it("says how to set up vLLM like it, and SGLang where memory is a radix tree", async () => {
    const best = (await planEngine(base)).candidates[0]!;
    expect(engineFlags(best)).toMatch(
      /^vllm serve --tensor-parallel-size 1 .*--max-model-len 1024/,
    );
    const radix = { ...best, config: { ...best.config, memory: "radix" as const } };
    expect(engineFlags(radix)).toMatch(/sglang.* --tp 1 --chunked-prefill-size \d+/);
  });

  it("looks at both prefix memories where prompts begin alike, and keeps the plainer if it is as good", async () => {
    const requests = base.requests.map((one, i) => ({ ...one, blockHashes: [1, 100 + i] }));
    const { candidates } = await planEngine({ ...base, requests });
    expect(new Set(candidates.map(({ config }) => config.memory))).toEqual(
      new Set(["prefix", "radix"]),
    );
    expect(candidates[0]!.config.memory).toBe("prefix");
  });

  it("looks at fleets of more replicas than prefix routing knows", async () => {
    const requests = poisson(40, 400, 2_000, 2).map((one, i) => ({ ...one, blockHashes: [i % 3] }));
    const limits = { ttftUs: 1_000 };
    const many = { gpusMax: 300, contextMax: 2_048, ranks: [1], engine: { kvTokens: 4_096 } };
    const plan = await planEngine({ ...base, ...many, requests, limits });
    expect(plan.met).toBe(false);
    const routers = new Map(plan.candidates.map(({ engines, routing }) => [engines, routing]));
    expect([routers.get(16), routers.get(128), routers.get(300)]).toEqual([
      "prefix",
      "balanced",
      "least-load",
    ]);
  });

  it("looks at prefill and decode apart, and takes it where tight gaps make chunks expensive", async () => {
    // Long prompts all the time: in one engine either the gaps are long or the chunks are many.
    const requests = poisson(150, 8, 6_000, 60);
    const limits = { ttftUs: 1_500_000, itlUs: 16_000 };
    const plan = await planEngine({ ...base, requests, limits, contextMax: 8_192 });
    expect(plan.met).toBe(true);
    expect(plan.candidates[0]!.pools).toBeDefined();
    const together = plan.losers.find(({ lever }) => lever === "prefill and decode together")!;
    expect(together.why).toMatch(/ITL p99 .* × its limit|meets the limits on \d+ GPUs instead/);
  });

  it("says of the best of each other kind why it is not recommended, with the figure and its n", async () => {
    const limits = { ttftUs: 500_000, itlUs: 30_000 };
    const { losers } = await planEngine({ ...base, limits });
    expect(losers.length).toBeGreaterThanOrEqual(3);
    for (const { candidate, why } of losers) {
      const reason =
        candidate.strain > 1
          ? /^\w+ p99 .* is \d+\.\d\d × its limit \(n \d+\)$/
          : candidate.gpus > 1
            ? /^meets the limits on \d+ GPUs instead of 1$/
            : /^as many GPUs, but nearer to a limit: .* is \d+ % of it, not \d+ % \(n \d+\)$/;
      expect(why).toMatch(reason);
    }
    // Each kind of reason is among them.
    expect(new Set(losers.map(({ candidate }) => candidate.strain > 1)).size).toBe(2);
    expect(losers.map(({ lever }) => lever)).toContain("whole prompts");
  });

  it("plans with fitted prices for the ranks that they hold for, and no others", async () => {
    const slow: FittedCostText = {
      schemaVersion: 1,
      coefficients: {
        stepUs: 40_000,
        freeTokens: 128,
        tokenUs: 200,
        prefillSequenceUs: 0,
        prefillPairUs: 0,
        prefillContextTokenUs: 0,
        decodeSequenceUs: 0,
        decodeContextTokenUs: 0,
      },
      fittedOn: { source: "test", requests: 100, undetermined: [] },
      error: [],
    };
    const engine = {
      cost: { kind: "fitted", fitted: slow },
      ahead: true,
      admission: "step",
    } as const;
    const plan = await planEngine({ ...base, limits: { itlUs: 30_000 }, engine, ranks: [2] });
    expect(plan.met).toBe(false);
    expect(plan.candidates.every(({ config }) => config.ranks === 2)).toBe(true);
    const met = await planEngine({ ...base, limits: { itlUs: 900_000 }, engine, ranks: [2] });
    expect(met.met).toBe(true);
    // A step that is composed ahead has to be chunked.
    for (const { config } of met.candidates) {
      expect(config.ahead).toBe(config.scheduling === "chunked");
    }
  });

  it("gives the same plan for the same workload", async () => {
    const told = async (): Promise<unknown> => {
      const { candidates } = await planEngine(base);
      return candidates.map(({ replayOptions, strain }) => [replayOptions.name, strain]);
    };
    expect(await told()).toEqual(await told());
  });
});
