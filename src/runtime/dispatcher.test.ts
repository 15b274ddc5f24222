import { describe, expect, it } from "vitest";
import {
  callDelta,
  FINISH,
  play,
  runtimeWorld,
  wholeCall,
} from "../../test/support/runtime-world.ts";
import { bytesOf, chatWire, delta } from "../../test/support/wire-text.ts";
import type { CallEvent } from "./call-event.ts";

const OPEN = { id: "A", name: "search" };

describe("a call", () => {
  it("starts in the very read that brings its last brace, before the message ends", async () => {
    const world = runtimeWorld();
    const step = world.turn([world.timed("search", 100)]).step("openai-chat");
    const push = (frame: object): void => void step.push(bytesOf(chatWire(frame)));
    push(callDelta(0, "", OPEN));
    push(callDelta(0, '{"q":"}'));
    expect(world.runs).toEqual([]);
    push(callDelta(0, '"}'));
    // No await in between: it has started while the read was being taken in.
    expect(world.runs).toEqual([{ name: "search", args: { q: "}" }, atMs: 0 }]);
    step.push(bytesOf(chatWire(FINISH, "[DONE]")));
    await world.clock.run();
    const [result] = await step.results();
    expect(result).toMatchObject({ id: "A", name: "search", status: "ok", text: "search is done" });
    expect(world.runs).toHaveLength(1);
  });

  it("of several overlaps with the rest of the message, and results come in call order", async () => {
    const world = runtimeWorld();
    const tools = [world.timed("slow", 800), world.timed("fast", 100)];
    const turn = world.turn(tools);
    const step = turn.step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "slow")],
      [400, wholeCall(1, "fast")],
      [1_000, FINISH],
      [1_000, "[DONE]"],
    ]);
    let doneMs = 0;
    const results = step.results().then((all) => {
      doneMs = world.nowMs();
      return all;
    });
    await world.clock.run();
    expect((await results).map(({ name, times }) => [name, times.headStartUs])).toEqual([
      ["slow", 1_000_000],
      ["fast", 600_000],
    ]);
    expect(doneMs).toBe(1_000);
    expect(turn.counts).toMatchObject({ early: 2, started: 2 });
  });

  it.each(["irreversible", "idempotent", "reversible"] as const)(
    "of a tool that is %s, without undo, waits for the end of the message",
    async (effect) => {
      const world = runtimeWorld();
      const step = world.turn([world.timed("pay", 50, { effect })]).step("openai-chat");
      play(world, step, [
        [0, wholeCall(0, "pay")],
        [200, FINISH],
        [300, "[DONE]"],
      ]);
      await world.clock.run(299_000);
      expect(world.runs).toEqual([]);
      await world.clock.run();
      expect(world.runs).toEqual([{ name: "pay", args: {}, atMs: 300 }]);
      expect(await step.messages()).toEqual([
        { role: "tool", tool_call_id: "c0", content: "pay is done" },
      ]);
    },
  );

  it.each([
    ["length", "truncated"],
    ["content_filter", "filtered"],
    ["stop_sequence", "unsafe"],
    ["what_is_this", "unsafe"],
  ])(
    "is not run after the finish reason %s, and an early one is taken back",
    async (reason, verdict) => {
      const world = runtimeWorld();
      const undone: unknown[] = [];
      const tools = [
        world.timed("pay", 50, { effect: "irreversible" }),
        world.timed("book", 20, {
          effect: "reversible",
          undo: (args, run) => undone.push([args, run]),
        }),
        world.timed("hold", 500, {
          effect: "reversible",
          undo: (_, run) => undone.push(run.ended),
        }),
        world.timed("search", 500),
      ];
      const turn = world.turn(tools);
      const step = turn.step("openai-chat");
      play(world, step, [
        [0, wholeCall(0, "pay")],
        [0, wholeCall(1, "book", { seat: 4 })],
        [0, wholeCall(2, "hold")],
        [0, wholeCall(3, "search")],
        [100, delta({}, reason)],
        [100, "[DONE]"],
      ]);
      await world.clock.run();
      expect(step.verdict).toBe(verdict);
      expect(world.runs.map(({ name }) => name)).toEqual(["book", "hold", "search"]);
      expect(undone).toEqual([[{ seat: 4 }, { ended: "ok", result: "book is done" }], "failed"]);
      const results = await step.results();
      expect(results.map(({ status }) => status)).toEqual(Array(4).fill("cancelled"));
      expect(await step.messages()).toEqual([]);
      expect(turn.counts).toMatchObject({ undone: 2, undoFailed: 0, obeyed: 2, abandoned: 0 });
      expect(turn.running).toBe(0);
    },
  );

  it("is not run when the stream breaks off, or an error follows the finish reason", async () => {
    for (const last of [null, { error: { message: "overloaded" } }]) {
      const world = runtimeWorld();
      const step = world
        .turn([world.timed("pay", 50, { effect: "irreversible" })])
        .step("openai-chat");
      const frames: [number, unknown][] = [[0, wholeCall(0, "pay")]];
      if (last !== null) frames.push([10, FINISH], [20, last]);
      play(world, step, frames);
      await world.clock.run();
      expect(step.verdict).toBe(last === null ? "incomplete" : "failed");
      expect(world.runs).toEqual([]);
      expect((await step.results())[0]).toMatchObject({ status: "cancelled", isError: true });
    }
  });

  it("of a finish reason that is whole without [DONE] is run when the bytes end", async () => {
    const world = runtimeWorld();
    const step = world
      .turn([world.timed("pay", 50, { effect: "irreversible" })])
      .step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "pay")],
      [10, FINISH],
    ]);
    await world.clock.run();
    expect(await step.results()).toMatchObject([{ status: "ok" }]);
  });

  it("that a failed stream had begun is not run again when the message comes again", async () => {
    const world = runtimeWorld();
    const turn = world.turn([world.timed("search", 300)]);
    const first = turn.step("openai-chat");
    play(world, first, [
      [0, wholeCall(0, "search", { q: "a", n: 1 })],
      [50, { error: { message: "x" } }],
    ]);
    await world.clock.run(100_000);
    const second = turn.step("openai-chat");
    for (const frame of [
      callDelta(0, '{"n":1,"q":"a"}', { id: "Z", name: "search" }),
      callDelta(1, '{"n":1,"q":"a"}', { id: "Y", name: "search" }),
      FINISH,
    ]) {
      second.push(bytesOf(chatWire(frame)));
    }
    second.end();
    await world.clock.run();
    expect(await second.results()).toMatchObject([
      { id: "Z", status: "ok", times: { endedUs: 300_000 } },
      { id: "Y", status: "ok", times: { endedUs: 400_000 } },
    ]);
    expect(world.runs).toHaveLength(2);
    expect(turn.counts.adopted).toBe(1);
    expect((await first.results())[0]?.status).toBe("cancelled");
  });
});

describe("a call that cannot be run", () => {
  async function resultOf(frames: readonly object[], more = {}): Promise<unknown> {
    const world = runtimeWorld();
    const tools = [
      world.timed("search", 10, {
        input: (value) => {
          if (typeof (value as { q?: unknown }).q !== "string")
            throw new Error("q: a text is needed");
          return value;
        },
      }),
    ];
    const step = world.turn(tools, more).step("openai-chat");
    play(
      world,
      step,
      frames.map((frame) => [0, frame]),
    );
    await world.clock.run();
    const results = await step.results();
    return results.map(({ status, text }) => [status, text]);
  }

  it.each([
    ["half its arguments", callDelta(0, '{"q"', OPEN), "invalid", "no whole JSON object"],
    ["two objects", callDelta(0, '{"q":"a"}{"q":"b"}', OPEN), "invalid", "no whole JSON object"],
    ["a list", callDelta(0, '["q"]', OPEN), "invalid", "no whole JSON object"],
    [
      "arguments that do not fit",
      wholeCall(0, "search", { q: 1 }),
      "invalid",
      "q: a text is needed",
    ],
    ["none where some are needed", callDelta(0, "", OPEN), "invalid", "q: a text is needed"],
    ["a name that no tool has", wholeCall(0, "serach"), "unknown", 'did the call mean "search"?'],
  ])("with %s gets an error that says so", async (_, frame, status, text) => {
    const [first] = (await resultOf([frame, FINISH])) as [string, string][];
    expect(first?.[0]).toBe(status);
    expect(first?.[1]).toMatch(/^error: /);
    expect(first?.[1]).toContain(text);
  });

  it("because its id was used is refused, and a provider gets one result for the id", async () => {
    const world = runtimeWorld();
    const step = world.turn([world.timed("search", 10)]).step("anthropic-messages");
    const block = (index: number): object[] => [
      {
        type: "content_block_start",
        index,
        content_block: { type: "tool_use", id: "A", name: "search", input: {} },
      },
      { type: "content_block_stop", index },
    ];
    const frames = [
      { type: "message_start", message: { id: "m" } },
      ...block(0),
      ...block(1),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ];
    for (const frame of frames) step.chunk(frame);
    await world.clock.run();
    expect((await step.results()).map(({ status }) => status)).toEqual(["ok", "invalid"]);
    expect(world.runs).toHaveLength(1);
    expect(await step.messages()).toEqual([
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "A", content: "search is done" }],
      },
    ]);
  });

  it("because it is blocked says why, and a check that throws blocks too", async () => {
    const frames = [wholeCall(0, "search", { q: "a" }), FINISH];
    const blocked = { admit: () => ({ blocked: "not today" }) };
    expect(await resultOf(frames, blocked)).toEqual([["blocked", "error: blocked: not today"]]);
    const broken = {
      admit: () => {
        throw new Error("boom");
      },
    };
    expect(await resultOf(frames, broken)).toEqual([
      ["blocked", "error: blocked: its check has failed"],
    ]);
    const late = { admit: () => Promise.reject(new Error("boom")) };
    expect(await resultOf(frames, late)).toEqual([
      ["blocked", "error: blocked: its check has failed"],
    ]);
  });
});

describe("the turn's time", () => {
  it("ends everything: what runs, what waits, and a stream that goes on", async () => {
    const world = runtimeWorld();
    const tools = [
      world.timed("slow", 9_000, { resource: "db" }),
      world.timed("next", 1, { needs: ["slow"] }),
    ];
    const turn = world.turn(tools, { deadline: "1s", limits: { perResource: { db: 1 } } });
    const step = turn.step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "slow")],
      [0, wholeCall(1, "slow")],
      [0, wholeCall(2, "next")],
      [0, FINISH],
    ]);
    let doneMs = 0;
    void step.results().then(() => {
      doneMs = world.nowMs();
    });
    await world.clock.run();
    expect((await step.results()).map(({ status }) => status)).toEqual([
      "timeout",
      "timeout",
      "timeout",
    ]);
    expect(doneMs).toBe(1_000);
    expect(turn.running).toBe(0);
    const late = world.turn([world.timed("search", 1)], { deadline: "1s" }).step("openai-chat");
    late.chunk(wholeCall(0, "search"));
    await world.clock.run();
    expect(late.verdict).toBe("late");
    expect(await late.results()).toMatchObject([{ status: "cancelled" }]);
  });

  it("of zero runs nothing", async () => {
    const world = runtimeWorld();
    const step = world.turn([world.timed("search", 1)], { deadline: 0 }).step("openai-chat");
    step.chunk(wholeCall(0, "search"));
    step.chunk(FINISH);
    step.end();
    await world.clock.run();
    expect(world.runs).toEqual([]);
    expect(step.verdict).toBe("late");
    expect(await step.messages()).toEqual([]);
  });

  it("is over when the turn is closed, and what ran is seen to end", async () => {
    const world = runtimeWorld();
    const deaf = world.timed("deaf", 0, { run: () => new Promise(() => {}) });
    const turn = world.turn([world.timed("slow", 9_000), deaf]);
    const step = turn.step("openai-chat");
    for (const frame of [wholeCall(0, "slow"), wholeCall(1, "deaf"), FINISH]) step.chunk(frame);
    step.end();
    expect(turn.running).toBe(2);
    let closedMs = -1;
    void turn.close().then(() => {
      closedMs = world.nowMs();
    });
    await world.clock.run();
    expect((await step.results()).map(({ text }) => text)).toEqual(
      Array(2).fill("error: the turn has ended"),
    );
    expect(closedMs).toBe(20);
    expect(turn.counts).toMatchObject({ obeyed: 1, abandoned: 1 });
  });
});

describe("an observer", () => {
  it("hears of each call, and cannot break one by throwing", async () => {
    const world = runtimeWorld();
    const events: CallEvent[] = [];
    const turn = world.turn([world.timed("search", 5)], {
      observe: (event) => {
        events.push(event);
        throw new Error("no");
      },
    });
    const step = turn.step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "search")],
      [1, FINISH],
    ]);
    await world.clock.run();
    expect((await step.results())[0]?.status).toBe("ok");
    expect(events.map(({ type, atUs }) => [type, atUs])).toEqual([
      ["call-sealed", 0],
      ["call-start", 0],
      ["call-end", 5_000],
    ]);
    expect(turn.counts.observerErrors).toBe(3);
  });
});
