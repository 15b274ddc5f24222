/** RT-14: below the minimum a marked prefix is silently not kept. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../src/clock/index.ts";
import { cacheMinimum, markOutlook, withCacheMarks } from "../../src/policy/index.ts";
import {
  compilePrompt,
  PromptLinter,
  recordedRequests,
  SimulatedPromptCache,
} from "../../src/runtime/index.ts";

const outlook = (tokens: number, model: string) =>
  markOutlook(tokens, cacheMinimum(model)?.tokens ?? null);

describe("RT-14: a marked prefix of 1,500 tokens", () => {
  it.each([
    ["claude-sonnet-4-5", "works"],
    ["claude-sonnet-4-5-20250929", "works"],
    ["anthropic/claude-sonnet-4.5", "works"],
    ["claude-3-5-haiku-20241022", "too_short"],
    ["claude-haiku-4-5", "too_short"],
    ["claude-opus-4-5", "too_short"],
    ["us.anthropic.claude-opus-4-5-20251101-v1:0", "too_short"],
    ["claude-opus-4-20250514", "works"],
    ["some-model-of-tomorrow", "unknown"],
  ])("%s: %s", (model, wanted) => {
    expect(outlook(1_500, model)).toBe(wanted);
  });

  it("of 4,096 exactly is uncertain, as an estimate is", () => {
    expect(outlook(4_096, "claude-haiku-4-5")).toBe("uncertain");
    expect(outlook(4_600, "claude-haiku-4-5")).toBe("works");
    expect(outlook(3_600, "claude-haiku-4-5")).toBe("too_short");
  });

  it("has a date, since the figure is data", () => {
    expect(cacheMinimum("claude-haiku-4-5")).toEqual({ tokens: 4_096, asOf: "2026-10" });
  });
});

describe("RT-14: marks that cannot work", () => {
  const text = (tokens: number): string => "word".repeat(tokens);
  const body = {
    model: "claude-haiku-4-5",
    tools: [{ name: "x", description: text(1_000) }],
    system: text(2_000),
    messages: [
      { role: "user", content: text(2_000) },
      { role: "assistant", content: "Yes." },
      { role: "user", content: "And?" },
    ],
  };
  const marks = (value: unknown): number =>
    JSON.stringify(value).split('"cache_control"').length - 1;

  it("are not set, and do not count towards the four", () => {
    const { body: made, markedTokens } = withCacheMarks(body, { minimumTokens: 4_096 });
    expect(marks(made)).toBe(2);
    expect(marks([made.tools, made.system])).toBe(0);
    expect(markedTokens).toBeGreaterThan(4_900);
    expect(marks(withCacheMarks(body, { minimumTokens: 1_200 }).body)).toBe(3);
    expect(withCacheMarks(body, { minimumTokens: 9_000 }).markedTokens).toBe(0);
  });

  it("are tried where the minimum is not known, four at the most", () => {
    expect(marks(withCacheMarks(body, { minimumTokens: null }).body)).toBe(4);
  });
});

describe("RT-14: a prefix of 1,500 tokens that is linted, compiled and sent", () => {
  const rules = "word".repeat(1_500);
  const marked = (model: string) => ({
    model,
    system: [{ type: "text", text: rules, cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: "Hi" }],
  });

  it.each([
    ["claude-sonnet-4-5", [], 1],
    ["claude-3-5-haiku-20241022", ["too_short"], 0],
    ["claude-haiku-4-5", ["too_short"], 0],
    ["claude-opus-4-5", ["too_short"], 0],
    ["some-claude-of-tomorrow", ["unknown_model"], 1],
  ])("%s: problems %j, %i mark", (model, kinds, marks) => {
    const linter = new PromptLinter();
    const body = marked(model);
    const source = { file: "log.jsonl", line: 1, json: JSON.stringify(body) };
    const { problems } = linter.add(recordedRequests(body)[0]!, source)!;
    expect(problems.map(({ kind }) => kind)).toEqual(kinds);
    const made = compilePrompt([{ kind: "system", stability: "static", text: rules }], {
      format: "anthropic-messages",
      model,
    });
    expect(made.marks).toHaveLength(marks);
    expect(made.findings.map(({ problem }) => problem)).toEqual(kinds);
    // What was promised is what the provider's usage confirms on the second call.
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    const [, second] = [1, 2].map(() => cache.ask(made.body).usage);
    expect(second!.readTokens).toBe(made.cacheableTokens);
  });

  it("says the limit, its date, and that nobody else will", () => {
    const linter = new PromptLinter();
    const body = marked("claude-haiku-4-5");
    linter.add(recordedRequests(body)[0]!, { file: "a", line: 1, json: JSON.stringify(body) });
    expect(linter.summary().problems[0]!.text).toBe(
      "claude-haiku-4-5 keeps prefixes from 4096 tokens (as of 2026-10); this one has about 1500: it is never cached, and nobody says so",
    );
  });
});
