import { describe, expect, it } from "vitest";
import { kernelTables } from "../../test/support/vllm-0.15-runs.ts";
import { readGzipped } from "../../test/support/vllm-0.19-runs.ts";
import { SimClock } from "../clock/index.ts";
import { checkConfig } from "./config-check.ts";
import { type CostChoice, costOf } from "./cost-choice.ts";
import { describeConfig, ENGINE_DEFAULTS, type EngineConfig } from "./engine-config.ts";
import type { FittedCostText } from "./fitted-cost-text.ts";
import { buildServing } from "./fleet/index.ts";

const FITTED: FittedCostText = {
  schemaVersion: 1,
  coefficients: {
    stepUs: 4_000,
    freeTokens: 0,
    tokenUs: 10,
    prefillSequenceUs: 0,
    prefillPairUs: 0,
    prefillContextTokenUs: 0,
    decodeSequenceUs: 5,
    decodeContextTokenUs: 0,
  },
  fittedOn: { source: "run.jsonl", requests: 800, undetermined: [] },
  error: [],
};

const PROFILED: CostChoice = {
  kind: "profile",
  chunks: "summed",
  profile: {
    dense: readGzipped("rtx4090/dense.csv.gz"),
    perSequence: readGzipped("rtx4090/per_sequence.csv.gz"),
    attention: readGzipped("rtx4090/attention.csv.gz"),
  },
};

/** Every lever that is more than a number, each as the only change. */
const LEVERS: readonly Partial<EngineConfig>[] = [
  { ahead: true, admission: "step" },
  { scheduling: "static", memory: "contiguous", fillWaitUs: 1_000 },
  { attention: "per-head" },
  { ranks: 16, allowCrossHost: true, link: "ethernet-100g", model: "llama-3.1-70b" },
  { cost: { kind: "fitted", fitted: FITTED } },
  { cost: { kind: "kernel-tables", tables: kernelTables("h100-sxm"), stepOverheadUs: 500 } },
  { cost: PROFILED },
  { speculation: { draftTokens: 3, acceptance: 0.7, draftShare: 0.1 } },
  { pools: { prefill: 1, decode: 2, link: "nvlink" } },
];

/** Last token of a few requests, µs. */
function endUs(config: EngineConfig): number {
  const clock = new SimClock();
  let lastUs = 0;
  let finished = 0;
  const serving = buildServing({
    clock,
    config,
    replicas: 1,
    seed: 1,
    checked: true,
    sink: {
      onToken: () => undefined,
      onFinish: (_, nowUs) => {
        finished += 1;
        lastUs = nowUs;
      },
    },
  });
  for (let i = 0; i < 8; i += 1) {
    clock.at(i * 40_000, () => {
      serving.submit(0, { promptTokens: 3_000, outputTokens: 30 }, i);
    });
  }
  clock.runSync();
  expect(finished).toBe(8);
  return lastUs;
}

describe("an engine's config", () => {
  it("is plain data: read back from JSON it is equal and builds the same engine", () => {
    for (const lever of LEVERS) {
      const config: EngineConfig = { ...ENGINE_DEFAULTS, ...lever };
      const readBack = JSON.parse(JSON.stringify(config)) as EngineConfig;
      expect(readBack).toEqual(config);
      expect(endUs(readBack)).toBe(endUs(config));
    }
  });

  it("has no lever that does nothing", () => {
    const plainUs = endUs(ENGINE_DEFAULTS);
    for (const lever of LEVERS) {
      expect([lever, endUs({ ...ENGINE_DEFAULTS, ...lever })]).not.toEqual([lever, plainUs]);
    }
  });

  it("describes each lever in one plain value", () => {
    for (const lever of LEVERS) {
      for (const value of Object.values(describeConfig({ ...ENGINE_DEFAULTS, ...lever }))) {
        expect(["string", "number", "boolean"]).toContain(typeof value);
        expect(String(value).length).toBeLessThan(100);
      }
    }
    expect(describeConfig({ ...ENGINE_DEFAULTS, ...LEVERS.at(-1) })).toMatchObject({
      cost: "roofline",
      speculation: "off",
      pools: "1 prefill + 2 decode over nvlink",
    });
  });

  it("refuses a lever that means nothing where it stands", () => {
    const tables = kernelTables("h100-sxm");
    const fitted: CostChoice = { kind: "fitted", fitted: FITTED };
    const cases: readonly [Partial<EngineConfig>, string][] = [
      [{ ahead: true, order: "priority" }, "ahead"],
      [{ ahead: true, scheduling: "continuous" }, "ahead"],
      [{ ahead: true, mixing: "prefill-first" }, "ahead"],
      [{ ahead: "yes" as never }, "ahead"],
      [{ admission: "step", scheduling: "continuous" }, "admission"],
      [{ preemption: "swap", scheduling: "static" }, "preemption"],
      [{ preemption: "move" as never }, "preemption"],
      [{ hostMemoryBytes: -1 }, "hostMemoryBytes"],
      [{ hostMemoryBytes: Number.NaN }, "hostMemoryBytes"],
      [{ attention: "per-head", cost: fitted }, "attention"],
      [
        {
          ranks: 16,
          allowCrossHost: true,
          model: "llama-3.1-70b",
          cost: { kind: "kernel-tables", tables, stepOverheadUs: 0 },
        },
        "ranks",
      ],
      [{ pools: { prefill: 0, decode: 1, link: "nvlink" } }, "pools.prefill"],
      [{ pools: { prefill: 1, decode: 1, link: "nvlink" }, scheduling: "static" }, "scheduling"],
    ];
    for (const [lever, where] of cases) {
      expect(() => checkConfig({ ...ENGINE_DEFAULTS, ...lever })).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
      );
    }
    for (const lever of [
      { cost: { kind: "table" } as never },
      { pools: { prefill: 1, decode: 1, link: "nvlinc" as never } },
    ]) {
      expect(() => checkConfig({ ...ENGINE_DEFAULTS, ...lever })).toThrow(
        expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
      );
    }
    expect(() =>
      checkConfig({
        ...ENGINE_DEFAULTS,
        cost: { kind: "fitted", fitted: { ...FITTED, coefficients: {} as never } },
      }),
    ).toThrow(expect.objectContaining({ code: "MANX_TABLE_FORMAT" }));
  });

  it("names the cost model that prices its steps", () => {
    expect(costOf(ENGINE_DEFAULTS).name).toBe("roofline");
    expect(costOf({ ...ENGINE_DEFAULTS, cost: { kind: "fitted", fitted: FITTED } }).name).toBe(
      "fitted",
    );
  });
});
