import { describe, expect, it } from "vitest";
import { z } from "zod";
import { EFFECT_RULES, type Effect } from "./effect.ts";
import { type ToolDefinition, tool } from "./tool.ts";
import { ToolBox } from "./tool-box.ts";

function make(more: Partial<ToolDefinition<unknown, unknown>> = {}) {
  return tool<unknown, unknown>({
    name: "search",
    effect: "pure",
    input: (value) => value,
    run: () => "found",
    ...more,
  });
}

describe("a tool", () => {
  it.each([
    [{ name: "" }],
    [{ name: "with space" }],
    [{ effect: "harmless" as Effect }],
    [{ run: undefined as never }],
    [{ input: null as never }],
    [{ attempts: 0 }],
    [{ attempts: 2, effect: "irreversible" as const }],
    [{ hedgeAfter: "1s", effect: "reversible" as const, undo: () => {} }],
    [{ resultCharsMax: 0 }],
  ])("with %o is refused", (more) => {
    expect(() => make(more)).toThrow(expect.objectContaining({ code: "MANX_TOOL_INVALID" }));
  });

  it("with a time that has no unit is refused", () => {
    expect(() => make({ deadline: "5" })).toThrow(
      expect.objectContaining({ code: "MANX_DURATION" }),
    );
    expect(make({ deadline: "5s" }).deadlineUs).toBe(5_000_000);
  });

  it("starts early if nothing is left of it when it is thrown away", () => {
    const early = (effect: Effect, undo?: () => void): boolean =>
      make({ effect, ...(undo !== undefined && { undo }) }).startsEarly;
    expect(Object.keys(EFFECT_RULES).map((effect) => early(effect as Effect))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(early("reversible", () => {})).toBe(true);
    expect(early("irreversible", () => {})).toBe(false);
  });

  it("gets the type of its arguments from its schema", () => {
    const typed = tool({
      name: "weather",
      effect: "pure",
      input: z.object({ city: z.string(), days: z.number().default(1) }),
      run: ({ city, days }) => `${city.toUpperCase()} ${days.toFixed()}`,
    });
    expect(typed.name).toBe("weather");
  });
});

describe("a tool box", () => {
  const check = async (input: ToolDefinition<never, unknown>["input"], value: unknown) => {
    const one = tool<never, unknown>({ name: "t", effect: "pure", input, run: () => 1 });
    return new ToolBox([one]).check(one, value);
  };

  it("checks by zod, by JSON Schema and by function, and says where it does not fit", async () => {
    const schema = z.object({ city: z.string(), days: z.number().default(1) });
    expect(await check(schema as never, { city: "Oslo" })).toEqual({
      args: { city: "Oslo", days: 1 },
    });
    expect(await check(schema as never, {})).toEqual({
      problem: expect.stringMatching(/^city: .*string/),
    });
    const json = {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", default: 1 } },
      required: ["city"],
      additionalProperties: false,
    };
    expect(await check(json, { city: "Oslo" })).toEqual({ args: { city: "Oslo" } });
    expect(await check(json, { city: 4 })).toEqual({ problem: expect.stringMatching(/^city: /) });
    expect(await check(json, { city: "Oslo", x: 1 })).toEqual({ problem: expect.any(String) });
    const broken = (): never => {
      throw new Error("");
    };
    expect(await check(broken, {})).toEqual({ problem: "the arguments do not fit" });
  });

  it("answers at once once it is warm, and for schemas that need no compiling", async () => {
    const json = make({ input: { type: "object" } });
    const box = new ToolBox([json, make({ name: "other" })]);
    expect(box.check(box.get("other")!, {})).toEqual({ args: {} });
    expect(box.check(json, {})).toBeInstanceOf(Promise);
    await box.warm();
    expect(box.check(json, {})).toEqual({ args: {} });
  });

  it("says which schema it cannot compile, to the one who warms and to the call that comes before", async () => {
    const odd = make({ input: { type: "no such type" } });
    const box = new ToolBox([odd]);
    expect(await box.check(odd, {})).toEqual({
      problem: expect.stringContaining("cannot be checked"),
    });
    await expect(box.warm()).rejects.toMatchObject({
      code: "MANX_TOOL_INVALID",
      where: 'tool "search"',
    });
  });

  it("has each name once, each tool that is needed, and no cycle", () => {
    expect(() => new ToolBox([make(), make()])).toThrow(
      expect.objectContaining({ code: "MANX_TOOL_INVALID" }),
    );
    expect(() => new ToolBox([make({ needs: ["serach"] }), make({ name: "user" })])).toThrow(
      expect.objectContaining({ code: "MANX_GRAPH_INVALID", hint: 'did you mean "search"?' }),
    );
    const circle = [
      make({ name: "a", needs: ["b"] }),
      make({ name: "b", needs: ["c"] }),
      make({ name: "c", needs: ["a"] }),
    ];
    expect(() => new ToolBox(circle)).toThrow(
      expect.objectContaining({ code: "MANX_GRAPH_INVALID", got: "a → b → c → a" }),
    );
  });
});
