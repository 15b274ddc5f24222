import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isManxError, type ManxError } from "../../core/index.ts";
import { type CheckedGateway, checkGatewayConfig } from "../config/index.ts";
import { importConfig } from "./index.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-import-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function check(text: string): Promise<CheckedGateway> {
  const path = join(folder, "manx.config.jsonc");
  await writeFile(path, text);
  return checkGatewayConfig(path);
}

async function imported(from: string, text: string) {
  const { text: jsonc, notes } = await importConfig(from, text, "config.yaml");
  const checked = await check(jsonc);
  expect(checked.errors).toEqual([]);
  return {
    jsonc,
    notes: notes.map(({ where, what }) => `${where}: ${what}`),
    config: checked.config!,
  };
}

const LITELLM = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, weight: 3, rpm: 480 }
  - model_name: gpt-4o
    litellm_params:
      model: azure/my-gpt-4o
      api_base: https://res.openai.azure.com/
      api_version: "2024-10-21"
      api_key: 5f1dplantedsecretazure
      max_parallel_requests: 64
  - model_name: sonnet
    litellm_params: { model: anthropic/claude-sonnet-4-5 }
  - model_name: own
    litellm_params: { model: hosted_vllm/meta/llama, api_base: "http://127.0.0.1:8000/v1" }
  - model_name: far
    litellm_params: { model: bedrock/anthropic.claude-v2 }
  - model_name: "openai/*"
    litellm_params: { model: "openai/*" }
router_settings:
  routing_strategy: latency-based-routing
  num_retries: 2
  timeout: 60
  cooldown_time: 30
  model_group_alias: { gpt-4: gpt-4o }
  fallbacks: [{ gpt-4o: [sonnet, gone] }]
  redis_host: localhost
litellm_settings:
  cache: true
  drop_params: true
  success_callback: [langfuse]
general_settings:
  master_key: sk-1234plantedmaster
`;

describe("LiteLLM's configuration", () => {
  it("becomes upstreams, models with targets in order, and one policy", async () => {
    const { config } = await imported("litellm", LITELLM);
    expect(
      config.upstreams.map((one) => [one.name, one.urls[0], one.key?.reference ?? null]),
    ).toEqual([
      ["openai", "https://api.openai.com", "env:OPENAI_API_KEY"],
      ["azure", "https://res.openai.azure.com/openai", "env:AZURE_API_KEY"],
      ["anthropic", "https://api.anthropic.com", "env:ANTHROPIC_API_KEY"],
      ["vllm", "http://127.0.0.1:8000/v1", null],
    ]);
    expect(config.upstreams[1]).toMatchObject({ authHeader: "api-key", connections: 64 });
    const target = { model: null, weight: 1, order: 0 };
    const gpt = [
      { ...target, upstream: "openai", weight: 3 },
      { ...target, upstream: "azure", model: "my-gpt-4o" },
    ];
    const models = Object.fromEntries(config.models.map((one) => [one.name, one.targets]));
    expect(models["gpt-4o"]).toEqual([
      ...gpt,
      { upstream: "anthropic", model: "claude-sonnet-4-5", weight: 1, order: 1 },
    ]);
    // The alias is another name for the same targets, which keep their own.
    expect(models["gpt-4"]).toEqual([{ ...gpt[0], model: "gpt-4o" }, gpt[1]]);
    expect(models.own).toEqual([{ ...target, upstream: "vllm", model: "meta/llama" }]);
    expect(Object.keys(models)).toEqual(["gpt-4o", "sonnet", "own", "gpt-4"]);
    expect(config.policies.default).toMatchObject({
      timeouts: { headersUs: 60_000_000 },
      retry: { attemptsMax: 3 },
      breaker: { openUs: 30_000_000 },
    });
    expect(config.state?.reference).toBe("env:REDIS_URL");
  });

  it("has a note for each thing that does not come along, and no secret in it", async () => {
    const { jsonc, notes } = await imported("litellm", LITELLM);
    expect(notes).toHaveLength(13);
    expect(jsonc + notes.join("\n")).not.toContain("planted");
    for (const start of [
      "model_list.0.litellm_params.rpm: has no equal",
      "model_list.1: Azure is called by its v1 API",
      "model_list.1.litellm_params.api_key: stood in clear",
      "model_list.4: bedrock speaks neither",
      "openai/*: names are exact",
      "router_settings.routing_strategy: latency-based-routing",
      "router_settings.fallbacks: gpt-4o: gone is no model",
      "router_settings.redis_host: set REDIS_URL",
      "litellm_settings.cache: has no equal",
      "litellm_settings.success_callback: metrics",
      "general_settings.master_key: callers need keys",
    ]) {
      expect(
        notes.filter((note) => note.startsWith(start)),
        start,
      ).toHaveLength(1);
      expect(jsonc).toContain(start);
    }
  });

  it("whatever it holds becomes a configuration that can be read, or one error", async () => {
    const provider = fc.constantFrom("openai", "azure", "anthropic", "hosted_vllm", "bedrock", "");
    const deployment = fc.record({
      model_name: fc.oneof(fc.constantFrom("a", "b", "*"), fc.string()),
      litellm_params: fc.record(
        {
          model: fc
            .tuple(provider, fc.string())
            .map(([name, model]) => (name ? `${name}/${model}` : model)),
          api_base: fc.constantFrom("http://127.0.0.1:8000", "https://x.test/v1"),
          api_key: fc.constantFrom("os.environ/KEY", "sk-1", ""),
          weight: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.string()),
          order: fc.oneof(fc.nat(5), fc.double()),
          max_parallel_requests: fc.oneof(fc.nat(), fc.double()),
        },
        { requiredKeys: ["model"] },
      ),
    });
    const settings = fc.record({
      model_list: fc.array(deployment, { maxLength: 5 }),
      router_settings: fc.record({
        fallbacks: fc.array(
          fc.dictionary(fc.constantFrom("a", "b"), fc.array(fc.constantFrom("a", "b", "c"))),
        ),
        model_group_alias: fc.dictionary(fc.constantFrom("x\ny", "y"), fc.constantFrom("a", "b")),
        num_retries: fc.oneof(fc.nat(20), fc.string()),
      }),
    });
    await fc.assert(
      fc.asyncProperty(settings, async (value) => {
        const outcome = await importConfig("litellm", JSON.stringify(value), "x").catch(
          (thrown: unknown) => thrown as ManxError,
        );
        if (isManxError(outcome)) {
          expect(outcome).toMatchObject({ code: "MANX_CONFIG_VALUE", where: "x" });
          return;
        }
        expect((await check(outcome.text)).errors).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("Portkey's configuration", () => {
  it("becomes one model with its tree of strategies as orders and weights", async () => {
    const tree = {
      strategy: { mode: "fallback", on_status_codes: [429] },
      targets: [
        {
          strategy: { mode: "loadbalance" },
          targets: [
            { provider: "openai", api_key: "sk-planted-1234", weight: 0.7 },
            {
              provider: "azure-openai",
              customHost: "https://res.openai.azure.com/openai",
              weight: 0.3,
            },
            { provider: "groq", weight: 0 },
          ],
        },
        {
          provider: "anthropic",
          virtual_key: "main-1",
          override_params: { model: "claude-sonnet-4-5", max_tokens: 64 },
        },
        { virtual_key: "lone" },
      ],
      retry: { attempts: 5, on_status_codes: [429, 529] },
      request_timeout: 10_000,
      cache: { mode: "simple" },
    };
    const { config, notes, jsonc } = await imported("portkey", JSON.stringify(tree));
    expect(config.models).toHaveLength(1);
    expect(config.models[0]).toMatchObject({
      name: "*",
      targets: [
        { upstream: "openai", model: null, weight: 0.7, order: 0 },
        { upstream: "azure", model: null, weight: 0.3, order: 0 },
        { upstream: "anthropic", model: "claude-sonnet-4-5", weight: 1, order: 1 },
      ],
    });
    expect(config.policies.default).toMatchObject({
      retry: { attemptsMax: 6 },
      timeouts: { headersUs: 10_000_000 },
    });
    expect(jsonc).not.toContain("planted");
    expect(notes).toEqual(
      expect.arrayContaining([
        "strategy: which errors lead to the next target is fixed: time-outs, 429, 5xx, broken answers",
        "targets.1: its virtual key stays with Portkey; set ANTHROPIC_API_KEY",
        "targets.1.override_params.max_tokens: has no equal; left out",
        "targets.2: a virtual key alone does not say which provider it is; left out",
        "cache.mode: has no equal; left out",
      ]),
    );
  });
});

describe("what is no such configuration", () => {
  const bomb = `a: &a [x]\n${[..."bcdefghi"].map((name, i) => `${name}: &${name} [${`*${"abcdefgh"[i]},`.repeat(9)}]`).join("\n")}`;
  it.each([
    ["litellm", "model_list: [", "MANX_CONFIG_SYNTAX"],
    ["litellm", "[]", "MANX_CONFIG_SYNTAX"],
    ["litellm", "", "MANX_CONFIG_SYNTAX"],
    ["litellm", bomb, "MANX_CONFIG_SYNTAX"],
    ["litellm", "a: 1", "MANX_CONFIG_VALUE"],
    ["portkey", "{}", "MANX_CONFIG_VALUE"],
    ["litelm", "{}", "MANX_NAME_UNKNOWN"],
  ])("is refused: %s %.20j", async (from, text, code) => {
    await expect(importConfig(from, text, "x.yaml")).rejects.toMatchObject({ code });
  });
});
