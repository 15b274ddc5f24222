import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GivenValue, readConfig } from "../../config/index.ts";
import { renderError, toManxError } from "../../core/index.ts";
import { COEFFICIENT_NAMES, ENGINE_DEFAULTS } from "../../engine/index.ts";
import { FAULT_KINDS } from "../fault.ts";
import { engineSchema, engineSetup } from "./index.ts";
import { writtenConfig } from "./written-config.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-engine-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Outside {
  readonly env?: Record<string, string>;
  readonly flags?: readonly GivenValue[];
}

async function sectionOf(text?: string, outside: Outside = {}) {
  const path = text === undefined ? undefined : join(folder, "manx.config.jsonc");
  if (path !== undefined) await writeFile(path, text!);
  return await readConfig(path, { section: "engine", schema: engineSchema, ...outside });
}

async function setupOf(text?: string, outside?: Outside) {
  return await engineSetup(await sectionOf(text, outside), folder);
}

/** What a user is told of a file that is wrong by itself, or of a config that cannot be. */
async function refusal(text: string, outside?: Outside): Promise<string> {
  try {
    await setupOf(text, outside);
  } catch (thrown) {
    return renderError(toManxError(thrown)).replaceAll(`${folder}/`, "");
  }
  return "";
}

const zero = Object.fromEntries(COEFFICIENT_NAMES.map((name) => [name, 0]));
const fittedTo = {
  schemaVersion: 1,
  coefficients: { ...zero, stepUs: 9_000 },
  fittedOn: { source: "run.json", requests: 300, undetermined: [] },
  error: [],
  engine: {
    model: "qwen2.5-7b",
    gpu: "l40s",
    ranks: 2,
    scheduling: "chunked",
    sequencesMax: 64,
    tokensMax: 512,
    kvTokens: 54_321,
    ahead: true,
    admission: "step",
    // What no config knows by this word.
    speculation: "off",
  },
};

describe("the section engine", () => {
  it("says by default what the engine and its server have as defaults", async () => {
    const { server, drainUs } = await setupOf();
    const { config, ...rest } = server;
    const blocks = { pieceTokens: ENGINE_DEFAULTS.blockTokens };
    expect(config).toEqual({ ...ENGINE_DEFAULTS, ...blocks });
    expect(drainUs).toBe(10_000_000);
    expect(rest).toEqual({
      host: "127.0.0.1",
      port: 8_000,
      speed: 1,
      seed: 42,
      waitingMax: 1_024,
      replicas: 1,
      routing: "round-robin",
      faults: [],
    });
  });

  it("reaches every lever of the engine, each by a value that is not its default", async () => {
    const text = `{"engine": {
      "model": "qwen2.5-7b", "gpu": "l40s", "context": 8000, "ranks": 2, "ranksPerHost": 4,
      "link": "roce-200g", "allowCrossHost": true, "attention": "per-head",
      "scheduling": "continuous", "sequences": 7, "tokens": 900, "fillWait": "3ms",
      "ahead": true, "admission": "step", "order": "priority", "ageing": "2s",
      "priorityPreempts": true, "starvation": "4s", "outputWeight": 3, "mixing": "prefill-first",
      "consecutivePrefills": 5, "requestTokens": 6, "longPrompt": 70, "longPrefills": 8,
      "passes": 9, "memory": "prefix", "memoryShare": 0.5, "block": 32, "preemption": "swap",
      "hostMemory": "2GiB", "kvTokens": 9000, "speculation": {"drafts": 2, "acceptance": [0.7, 0.5]},
      "pools": {"prefill": 1, "decode": 2}
    }}`;
    const { value } = await sectionOf(text);
    const config = writtenConfig(value, ENGINE_DEFAULTS.cost);
    const { cost, ...levers } = ENGINE_DEFAULTS;
    for (const [name, byDefault] of Object.entries(levers)) {
      expect(config[name as keyof typeof config], name).not.toEqual(byDefault);
    }
    expect(config).toMatchObject({
      fillWaitUs: 3_000,
      ageingUs: 2_000_000,
      hostMemoryBytes: 2 * 2 ** 30,
      kvTokens: 9_000,
      speculation: { draftTokens: 2, acceptance: [0.7, 0.5], draftShare: 0.05, seed: 0 },
      pools: { prefill: 1, decode: 2, link: "infiniband-400g" },
    });
  });

  it("has what happens to replicas, and every fault", async () => {
    const faults = FAULT_KINDS.map((kind) => ({ kind, share: 0.01 }));
    const text = `{"engine": {
      "replicas": 3, "routing": "least-load", "cold": ["0s", "30s"],
      "neighbour": {"share": 0.4, "on": "5s", "off": "20s", "replicas": [2]},
      "hourly": {"startHour": 9, "shares": [${new Array(24).fill(0.1).join()}]},
      "faults": ${JSON.stringify(faults)}
    }}`;
    const { server } = await setupOf(text);
    expect(server.fleet).toMatchObject({
      readyUs: [0, 30_000_000],
      neighbour: { share: 0.4, onUs: 5_000_000, offUs: 20_000_000 },
      noisyReplicas: [2],
      hourly: { startHour: 9 },
    });
    expect(server.faults?.map(({ fault }) => fault.kind)).toEqual(FAULT_KINDS);
  });

  it("takes flags over variables over the file", async () => {
    const text = '{"engine": {"sequences": 1, "tokens": 1, "context": 1, "drain": "1s"}}';
    const env = { MANX_ENGINE_SEQUENCES: "2", MANX_ENGINE_TOKENS: "2", MANX_ENGINE_DRAIN: "2s" };
    const flags = [{ path: ["sequences"], value: 3, name: "--sequences" }];
    const { server, drainUs } = await setupOf(text, { env, flags });
    const { sequencesMax, tokensMax, contextMax, ranks } = server.config;
    expect([sequencesMax, tokensMax, contextMax, ranks]).toEqual([3, 2, 1, 1]);
    expect(drainUs).toBe(2_000_000);
  });

  it("finds a fitted cost beside the file, and one from the command line where that was typed", async () => {
    await mkdir(join(folder, "sub"), { recursive: true });
    const fitted = (source: string): string =>
      JSON.stringify({ schemaVersion: 2, fittedOn: { source } });
    await writeFile(join(folder, "fit.json"), fitted("beside"));
    const path = join(folder, "sub", "manx.config.jsonc");
    await writeFile(path, '{"engine": {"cost": {"kind": "fitted", "file": "../fit.json"}}}');
    const section = await readConfig(path, { section: "engine", schema: engineSchema });
    // Found, and refused for what is in it.
    await expect(engineSetup(section, "/nowhere")).rejects.toMatchObject({
      code: "MANX_TABLE_FORMAT",
      where: join(folder, "fit.json"),
    });
    const flags = [{ path: ["cost"], value: { kind: "fitted", file: "fit.json" }, name: "--cost" }];
    await expect(setupOf(undefined, { flags })).rejects.toMatchObject({
      where: join(folder, "fit.json"),
    });
    await expect(
      setupOf('{"engine": {"cost": {"kind": "fitted", "file": "gone.json"}}}'),
    ).rejects.toMatchObject({ code: "MANX_FILE_UNREADABLE", got: "ENOENT" });
  });

  it("is the twin of the engine that a cost was fitted to, but for what somebody has set", async () => {
    await writeFile(join(folder, "cost.json"), JSON.stringify(fittedTo));
    const flags = [
      { path: ["cost"], value: { kind: "fitted", file: "cost.json" }, name: "--cost" },
      { path: ["tokens"], value: 4_096, name: "--tokens" },
    ];
    const { server, section } = await setupOf('{"engine": {"sequences": 7}}', { flags });
    expect(server.config).toMatchObject({
      model: "qwen2.5-7b",
      gpu: "l40s",
      ranks: 2,
      kvTokens: 54_321,
      sequencesMax: 7,
      tokensMax: 4_096,
      ahead: true,
      admission: "step",
    });
    expect(section.sourceOf(["kvTokens"])).toEqual({ kind: "preset", name: "cost.json" });
    expect(section.sourceOf(["sequences"]).kind).toBe("file");
    // Of a queue that is in another order no step can be composed ahead, whatever the real engine did.
    const ordered = await setupOf('{"engine": {"order": "priority"}}', { flags });
    expect(ordered.server.config).toMatchObject({ ahead: false, admission: "step" });
    const held = await setupOf('{"engine": {"scheduling": "static"}}', { flags });
    expect(held.server.config).toMatchObject({ ahead: false, admission: "known" });
  });

  it("refuses prices that were fitted to another model, GPU or number of ranks", async () => {
    await writeFile(join(folder, "cost.json"), JSON.stringify(fittedTo));
    const text = '{"engine": {"ranks": 1, "cost": {"kind": "fitted", "file": "cost.json"}}}';
    const shown = await refusal(text);
    expect(shown).toContain(":1:22");
    expect(shown).toContain(
      'expected 2, which the prices were fitted to, with cost "fitted", got 1',
    );
    const unknown = { ...fittedTo, engine: { gpu: "b200" } };
    await writeFile(join(folder, "cost.json"), JSON.stringify(unknown));
    const whole = await refusal('{"engine": {"cost": {"kind": "fitted", "file": "cost.json"}}}');
    expect(whole).toContain("at cost.json");
    expect(whole).toContain('got "b200"');
  });
});

describe("a config that cannot be", () => {
  it("is refused with line, column and caret by the schema", async () => {
    expect(await refusal('{\n  "engine": {\n    "block": 0\n  }\n}')).toBe(
      [
        "error MANX_CONFIG_VALUE: invalid engine.block",
        "  at manx.config.jsonc:3:14",
        '    3 |     "block": 0',
        "      |              ^",
        "  expected a number from 1, got 0",
        "  try: run manx config schema for all values",
      ].join("\n"),
    );
  });

  it("is refused at the same place for what the engine finds", async () => {
    const text = '{\n  "engine": {\n    "ranks": 16, "gpu": "h100-sxm"\n  }\n}';
    const shown = await refusal(text);
    expect(shown).toMatch(/^error MANX_CONFIG_IMPOSSIBLE: tensor parallelism across hosts\n/);
    expect(shown).toContain('  at manx.config.jsonc:3:14\n    3 |     "ranks": 16,');
    expect(shown).toContain("at most the 8 GPUs of one host");
  });

  it.each([
    ['{"gpu": "h100-sxm"}', 'put it into "engine"'],
    ['{"engine": {"gpu": "h100"}}', 'did you mean "h100-sxm"?'],
    ['{"engine": {"modle": "x"}}', 'did you mean "model"?'],
    ['{"engine": {"model": "llama-3.1-70b"}}', "weights 131.4 GiB + other 3.5 GiB below 72.0 GiB"],
    ['{"engine": {"tokens": 0.5}}', "expected a whole number, got 0.5"],
    ['{"engine": {"model": "llama-2-70b", "ranks": 4, "context": 5000}}', ":1:60"],
    ['{"engine": {"faults": [{"kind": "stall"}]}}', "engine.faults[0].share is missing"],
    ['{"engine": {"faults": [{"kind": "hang", "share": 2}]}}', "expected at most 1, got 2"],
    ['{"engine": {"faults": [{"kind": "refuse", "share": 0.1, "for": "2h"}]}}', ":1:64"],
    ['{"engine": {"hourly": {"shares": [0.5]}}}', "24"],
    ['{"engine": {"speculation": {"drafts": 3, "acceptance": [0.5]}}}', ":1:56"],
    ['{"engine": {"kvTokens": 5}}', ":1:25\n"],
    ['{"engine": {"cold": ["1s", "2s"]}}', "expected at most 1, one for each replica, got 2"],
    ['{"engine": {"scheduling": "static", "pools": {"prefill": 1, "decode": 1}}}', ":1:27"],
  ])("%s", async (text, words) => {
    expect(await refusal(text)).toContain(words);
  });

  it("names the variable that is wrong", async () => {
    const env = { MANX_ENGINE_TOKENS: "many" };
    expect(await refusal('{"engine": {}}', { env })).toContain("at MANX_ENGINE_TOKENS\n");
  });
});
