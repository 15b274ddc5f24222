import { describe, expect, it } from "vitest";
import { runtimeWorld } from "../../test/support/runtime-world.ts";
import { referencesIn, withResults } from "./plan.ts";

describe("references", () => {
  const results: Record<number, unknown> = { 1: { name: "Ada", tags: ["x", { y: 2 }] }, 2: "two" };
  const resultOf = (number: number): unknown => results[number];

  it.each([
    ["$1", results[1], [1]],
    ["$1.name", "Ada", [1]],
    ["$1.tags[1].y", 2, [1]],
    [{ a: ["$2", { b: "$1.name" }] }, { a: ["two", { b: "Ada" }] }, [2, 1]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a plan's reference
    ["Dear ${1.name}, ${1.tags}", 'Dear Ada, ["x",{"y":2}]', [1]],
    ["costs $5", "costs $5", []],
    ["$$1", "$1", []],
    [7, 7, []],
  ])("%j are found and filled in", (args, filled, numbers) => {
    expect(withResults(args, resultOf)).toEqual(filled);
    expect(referencesIn(args)).toEqual(numbers);
  });

  it("to a place that a result does not have are an error", () => {
    for (const path of ["$1.nome", "$1.tags[7]", "$2.length", "$1.constructor"]) {
      expect(() => withResults(path, resultOf)).toThrow(
        expect.objectContaining({ code: "MANX_GRAPH_INVALID" }),
      );
    }
  });
});

describe("a plan", () => {
  it("runs each step when what it refers to is there", async () => {
    const world = runtimeWorld();
    const turn = world.turn([
      world.timed("user", 200),
      world.timed("orders", 300),
      world.timed("weather", 400),
    ]);
    const results = turn.plan([
      { tool: "orders", args: { of: "$3" } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a plan's reference
      { tool: "weather", args: { of: "${3}!" } },
      { tool: "user", args: { id: 7 } },
    ]);
    await world.clock.run();
    expect((await results).map(({ id, status }) => [id, status])).toEqual([
      ["$1", "ok"],
      ["$2", "ok"],
      ["$3", "ok"],
    ]);
    expect(world.runs).toEqual([
      { name: "user", args: { id: 7 }, atMs: 0 },
      { name: "orders", args: { of: "user is done" }, atMs: 200 },
      { name: "weather", args: { of: "user is done!" }, atMs: 200 },
    ]);
    expect(world.nowMs()).toBe(600);
  });

  it("tells of a step that cannot be run, and goes on without it", async () => {
    const world = runtimeWorld();
    const tools = [
      world.timed("user", 10),
      world.timed("strict", 10, {
        input: () => {
          throw new Error("never");
        },
      }),
    ];
    const turn = world.turn(tools, {
      admit: ({ args }) =>
        (args as { id?: number }).id === 9 ? { blocked: "no nines" } : undefined,
    });
    const results = turn.plan([
      { tool: "user", args: {} },
      { tool: "strict", args: {} },
      { tool: "user", args: "$1.nothing" },
      { tool: "user", args: {}, after: [3] },
      { tool: "user", args: { id: 9 } },
    ]);
    await world.clock.run();
    expect((await results).map(({ status, text }) => [status, text])).toEqual([
      ["ok", "user is done"],
      ["invalid", "error: the arguments do not fit: never"],
      ["invalid", "error: a result has no $1.nothing"],
      ["skipped", "error: not run, since $3, which it needs, failed"],
      ["blocked", "error: blocked: no nines"],
    ]);
  });

  it("ends with the turn's time", async () => {
    const world = runtimeWorld();
    const turn = world.turn([world.timed("slow", 900)], { deadline: "1s" });
    const results = turn.plan([
      { tool: "slow", args: {} },
      { tool: "slow", args: "$1" },
      { tool: "slow", args: "$2" },
    ]);
    await world.clock.run();
    expect((await results).map(({ status }) => status)).toEqual(["ok", "timeout", "skipped"]);
    expect(turn.running).toBe(0);
  });

  it.each([
    ["a step that is not there", [{ tool: "user", args: "$4" }], "MANX_GRAPH_INVALID"],
    ["itself", [{ tool: "user", args: "$1" }], "MANX_GRAPH_INVALID"],
    [
      "a circle",
      [
        { tool: "user", args: "$2" },
        { tool: "user", args: "$1" },
      ],
      "MANX_GRAPH_INVALID",
    ],
    ["a tool that is not there", [{ tool: "usre", args: 1 }], "MANX_TOOL_INVALID"],
  ])("that refers to %s is refused", (_, steps, code) => {
    const world = runtimeWorld();
    const turn = world.turn([world.timed("user", 1)]);
    expect(() => turn.plan(steps)).toThrow(expect.objectContaining({ code }));
  });
});
