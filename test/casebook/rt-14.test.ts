/** RT-14: below the minimum a marked prefix is silently not kept. */
import { describe, expect, it } from "vitest";
import { cacheMinimum, markOutlook, withCacheMarks } from "../../src/policy/index.ts";

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
