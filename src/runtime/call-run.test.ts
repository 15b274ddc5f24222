import { describe, expect, it } from "vitest";
import { FINISH, runtimeWorld, type World, wholeCall } from "../../test/support/runtime-world.ts";
import type { Tool } from "./tool.ts";
import type { ToolResult } from "./tool-result.ts";
import type { Turn, TurnOptions } from "./turn.ts";

interface Ran {
  readonly result: ToolResult;
  readonly turn: Turn;
}

/** One call of one tool, in a message that is whole at once. */
async function call(world: World, tool: Tool, more: Partial<TurnOptions> = {}): Promise<Ran> {
  const turn = world.turn([tool], more);
  const step = turn.step("openai-chat");
  for (const frame of [wholeCall(0, tool.name), FINISH]) step.chunk(frame);
  step.end();
  await world.clock.run();
  const [result] = await step.results();
  return { result: result!, turn };
}

describe("a tool that", () => {
  it("throws fails; one that may be repeated is, as often as it says, under one deadline", async () => {
    const world = runtimeWorld();
    const attempts: [number, string][] = [];
    const moody = world.timed("moody", 0, {
      attempts: 3,
      run: async (_, { attempt, callId }) => {
        attempts.push([attempt, callId]);
        await world.sleep(100);
        if (attempt < 3) throw new Error("busy");
        return attempt;
      },
    });
    const { result, turn } = await call(world, moody);
    expect(result).toMatchObject({ status: "ok", text: "3", times: { endedUs: 300_000 } });
    expect(attempts).toEqual([
      [1, "c0"],
      [2, "c0"],
      [3, "c0"],
    ]);
    expect(turn.counts).toMatchObject({ started: 3, repeated: 2 });
    const late = await call(world, { ...moody, deadlineUs: 150_000 });
    expect(late.result).toMatchObject({ status: "timeout", text: "error: timeout after 150ms" });
  });

  it("throws at once, or something that is no error, has a text all the same", async () => {
    const world = runtimeWorld();
    const texts: string[] = [];
    for (const thrown of [
      "plain",
      new TypeError(""),
      undefined,
      { a: 1 },
      new Error("x".repeat(5_000)),
    ]) {
      const tool = world.timed("t", 0, {
        run: () => {
          throw thrown;
        },
      });
      const { result } = await call(world, tool);
      expect(result.status).toBe("failed");
      texts.push(result.text);
    }
    expect(texts.slice(0, 4)).toEqual([
      "error: plain",
      "error: TypeError",
      "error: the tool failed without a message",
      "error: the tool failed without a message",
    ]);
    expect(texts[4]).toHaveLength(4_096 + "error: ".length);
  });

  it("hangs and ignores its signal is given up after the grace, and its place with it", async () => {
    const world = runtimeWorld();
    const deaf = world.timed("deaf", 0, {
      deadline: "100ms",
      run: async () => {
        await world.sleep(5_000);
        return "too late";
      },
    });
    const turn = world.turn([deaf], { limits: { concurrency: 1 }, grace: "50ms" });
    const step = turn.step("openai-chat");
    for (const frame of [wholeCall(0, "deaf"), wholeCall(1, "deaf"), FINISH]) step.chunk(frame);
    step.end();
    await world.clock.run(99_000);
    expect(turn.running).toBe(1);
    await world.clock.run();
    // The second waited for the place until its own time was up as well.
    expect((await step.results()).map(({ text }) => text)).toEqual(
      Array(2).fill("error: timeout after 100ms"),
    );
    expect(turn.counts).toMatchObject({ started: 1, abandoned: 1, obeyed: 0 });
    expect(turn.running).toBe(0);
  });

  it("is slow gets a second run beside it if it hedges, and the slower one is called off", async () => {
    const world = runtimeWorld();
    const signals: AbortSignal[] = [];
    const moody = world.timed("moody", 0, {
      hedgeAfter: "200ms",
      run: async (_, { attempt, signal }) => {
        signals.push(signal);
        await world.sleep(attempt === 1 ? 9_000 : 100, signal);
        return attempt;
      },
    });
    const { result, turn } = await call(world, moody);
    expect(result).toMatchObject({ text: "2", times: { endedUs: 300_000 } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(turn.counts).toMatchObject({ hedged: 1, obeyed: 1, started: 2 });
  });

  it("returns a megabyte is cut between characters and says so, or fails, as it declares", async () => {
    const world = runtimeWorld();
    const big = "🙂".repeat(500_000);
    const run = () => big;
    const cut = await call(world, world.timed("t", 0, { run, resultCharsMax: 1_001 }));
    expect(cut.result).toMatchObject({ status: "ok", charsCut: 999_000, value: big });
    expect(cut.result.text).toBe(`${"🙂".repeat(500)}\n[999000 more characters cut off]`);
    expect(cut.turn.counts.truncated).toBe(1);
    const refused = world.timed("t", 0, { run, resultCharsMax: 1_001, whenTooLarge: "error" });
    expect((await call(world, refused)).result).toMatchObject({
      status: "failed",
      text: "error: the result has 1000000 characters, at most 1001 are allowed",
    });
    const standard = await call(world, world.timed("t", 0, { run }));
    expect(standard.result.text.length).toBeLessThan(263_000);
  });

  it.each([
    [undefined, "(no result)"],
    [null, "null"],
    [{ b: 1, a: [{ d: 1, c: undefined }] }, '{"a":[{"d":1}],"b":1}'],
    ["", ""],
    [3n, "error: the result cannot be written as JSON"],
  ])("returns %s is told as %s", async (value, text) => {
    const world = runtimeWorld();
    const { result } = await call(world, world.timed("t", 0, { run: () => value }));
    expect(result.text).toBe(text);
  });

  it("returns what goes in circles, or throws when it is read, fails and breaks nothing", async () => {
    const world = runtimeWorld();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    // biome-ignore lint/suspicious/noThenProperty: it is what the test is about
    const trap = Object.defineProperty({}, "then", {
      get: () => {
        throw new Error("a trap");
      },
    });
    for (const [value, text] of [
      [circle, "error: the result cannot be written as JSON"],
      [trap, "error: a trap"],
    ] as const) {
      const { result } = await call(world, world.timed("t", 0, { run: () => value }));
      expect(result).toMatchObject({ status: "failed", text });
    }
  });

  it("needs more time than is left is not begun", async () => {
    const world = runtimeWorld();
    const { result, turn } = await call(world, world.timed("t", 1, { least: "2s" }), {
      deadline: "1s",
    });
    expect(result).toMatchObject({ status: "timeout", text: expect.stringContaining("not begun") });
    expect(turn.counts.started).toBe(0);
  });

  it("cannot be undone is counted, and undoing has its own time", async () => {
    const world = runtimeWorld();
    const undone: number[] = [];
    const tool = (undo: () => unknown) => world.timed("book", 10, { effect: "reversible", undo });
    for (const [undo, counts] of [
      [() => Promise.reject(new Error("no")), { undone: 0, undoFailed: 1 }],
      [() => new Promise(() => {}), { undone: 0, undoFailed: 1 }],
      [
        async () => {
          await world.sleep(1_000);
          undone.push(world.nowMs());
        },
        { undone: 1, undoFailed: 0 },
      ],
    ] as const) {
      const turn = world.turn([tool(undo)], { deadline: "100ms" });
      const step = turn.step("openai-chat");
      step.chunk(wholeCall(0, "book"));
      await world.clock.run();
      expect(step.verdict).toBe("late");
      expect(turn.counts).toMatchObject(counts);
      expect(turn.running).toBe(0);
    }
    expect(undone).toHaveLength(1);
  });
});
