/** Data with a date: rules and prices by the names that people write. */
import { describe, expect, it } from "vitest";
import { promptFacts } from "./prompt-facts.ts";
import { promptPrice } from "./prompt-price.ts";
import { providerCacheRules, tellsMissReasons } from "./provider-cache-rules.ts";

describe("prices", () => {
  it.each([
    ["claude-sonnet-4-5-20250929", 3, 0.3],
    ["anthropic/claude-sonnet-4.5", 3, 0.3],
    ["us.anthropic.claude-opus-4-5-20251101-v1:0", 5, 0.5],
    ["claude-opus-4-1", 15, 1.5],
    ["claude-opus-4-20250514", 15, 1.5],
    ["claude-opus-5", 5, 0.5],
    ["claude-opus-5-5", 4, 0.2],
    ["claude-sonnet-5", 2, 0.2],
    ["claude-3-5-haiku-20241022", 0.8, 0.08],
    ["gpt-4.1-mini", 0.4, 0.1],
    ["gpt-4o-2024-08-06", 2.5, 1.25],
    ["gpt-5.1", 1.25, 0.125],
    ["gpt-5.4-mini", 0.75, 0.075],
  ])("%s", (model, inputUsd, cachedUsd) => {
    expect(promptPrice(model)).toMatchObject({ inputUsd, cachedUsd });
    expect(promptPrice(model)!.asOf).toMatch(/^20\d\d-\d\d$/);
  });

  it.each(["claude-opus-6", "claude-sonnet-5-1", "gpt-5.9", "gpt-4o-audio", "llama-3.1-8b", ""])(
    "%s has none",
    (model) => {
      expect(promptPrice(model)).toBeNull();
    },
  );
});

describe("rules", () => {
  it("are the provider's, with the model's minimum", () => {
    const of = (format: Parameters<typeof providerCacheRules>[0], model: string) => {
      const { provider, minimumTokens, stepTokens, lifetimes } = providerCacheRules(format, model);
      return [provider, minimumTokens, stepTokens, lifetimes.map(({ name }) => name).join()];
    };
    expect(of("anthropic-messages", "claude-haiku-4-5")).toEqual(["anthropic", 4_096, 1, "5m,1h"]);
    expect(of("anthropic-messages", "claude-9")).toEqual(["anthropic", null, 1, "5m,1h"]);
    expect(of("openai-chat", "gpt-5.5")).toEqual(["openai", 1_024, 128, "5m,24h"]);
    expect(of("openai-responses", "gpt-5.6-mini")).toEqual(["openai", 1_024, 1, "30m"]);
    expect(of("openai-responses", "gpt-6")).toEqual(["openai", 1_024, 1, "30m"]);
  });

  it("say who tells miss reasons itself", () => {
    expect(tellsMissReasons("anthropic-messages", "claude-sonnet-5")).toBe(true);
    expect(tellsMissReasons("openai-responses", "gpt-5.6")).toBe(true);
    expect(tellsMissReasons("openai-responses", "gpt-5")).toBe(false);
    expect(tellsMissReasons("openai-chat", "gpt-5.6")).toBe(false);
  });
});

describe("the format of a body", () => {
  const said = [{ role: "user", content: "a" }];
  const tool = { type: "function", function: { name: "x" } };
  it.each([
    [{ model: "claude-sonnet-4-5", messages: said }, "anthropic-messages"],
    [{ model: "x", messages: said, system: "s" }, "anthropic-messages"],
    [
      { model: "x", messages: said, tools: [{ name: "x", input_schema: {} }] },
      "anthropic-messages",
    ],
    [
      {
        model: "anthropic/claude-sonnet-4.5",
        messages: [{ role: "system", content: "s" }, ...said],
      },
      "openai-chat",
    ],
    [{ model: "anthropic/claude-sonnet-4.5", messages: said, tools: [tool] }, "openai-chat"],
    [{ model: "gpt-4.1", messages: said }, "openai-chat"],
    [{ model: "gpt-4.1", input: "a" }, "openai-responses"],
  ])("%j is %s", (body, format) => {
    expect(promptFacts(body)?.format).toBe(format);
  });

  it.each([null, 3, "x", [], {}, { model: "x" }])("of %j is none", (body) => {
    expect(promptFacts(body)).toBeNull();
  });
});
