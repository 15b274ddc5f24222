import { describe, expect, it } from "vitest";
import { callDelta, FINISH, play, runtimeWorld } from "../../test/support/runtime-world.ts";

const OPEN = { id: "A", name: "search" };

describe("a call that starts on a field", () => {
  const frames: [number, unknown][] = [
    [0, callDelta(0, '{"query":"a","n', OPEN)],
    [100, callDelta(0, 'umber":1}')],
    [200, FINISH],
  ];

  it("gets the others later", async () => {
    const world = runtimeWorld();
    const seen: unknown[] = [];
    const search = world.timed("search", 0, {
      startWhen: "query",
      run: async (args, { whole }) => {
        seen.push([args, world.nowMs()], [await whole, world.nowMs()]);
      },
    });
    const step = world.turn([search]).step("openai-chat");
    play(world, step, frames);
    await world.clock.run();
    expect(seen).toEqual([
      [{ query: "a" }, 0],
      [{ query: "a", number: 1 }, 100],
    ]);
    expect(await step.results()).toMatchObject([{ status: "ok", text: "(no result)" }]);
  });

  it("is called off if the others do not fit, and begun anew if the field is said again", async () => {
    const world = runtimeWorld();
    const starts: unknown[] = [];
    const signals: AbortSignal[] = [];
    const search = world.timed("search", 0, {
      startWhen: "query",
      input: (value) => {
        if ((value as { number: number }).number === 1) throw new Error("not that one");
        return value;
      },
      run: (args, { signal }) => {
        starts.push(args);
        signals.push(signal);
        return world.sleep(500, signal);
      },
    });
    const turn = world.turn([search]);
    const bad = turn.step("openai-chat");
    play(world, bad, frames);
    await world.clock.run();
    expect(signals[0]?.aborted).toBe(true);
    expect((await bad.results())[0]?.text).toBe("error: the arguments do not fit: not that one");
    const changed = turn.step("openai-chat");
    play(world, changed, [
      [0, callDelta(0, '{"query":"a",', OPEN)],
      [10, callDelta(0, '"query":"b"}')],
      [20, FINISH],
    ]);
    await world.clock.run();
    expect(starts).toEqual([{ query: "a" }, { query: "a" }, { query: "b" }]);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true, false]);
    expect((await changed.results())[0]?.status).toBe("ok");
  });
});
