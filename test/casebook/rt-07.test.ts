/** RT-07 — One fails; results keep order and identity. */
import { describe, expect, it } from "vitest";
import { Random } from "../../src/clock/index.ts";
import type { ToolResult } from "../../src/runtime/index.ts";
import { FINISH, play, runtimeWorld, wholeCall } from "../support/runtime-world.ts";

interface Run {
  readonly results: readonly ToolResult[];
  /** The next request's part, as bytes. */
  readonly bytes: string;
  readonly wallMs: number;
  /** Order in which a user interface hears of the ends. */
  readonly ends: readonly string[];
}

async function run(seed: number): Promise<Run> {
  const world = runtimeWorld();
  const random = new Random(seed, "jitter");
  const jitter = (ms: number): number => ms + random.int(20);
  const ends: string[] = [];
  const tools = [
    world.timed("a", jitter(180)),
    world.timed("b", 0, {
      run: async () => {
        await world.sleep(jitter(50));
        throw new Error("");
      },
    }),
    world.timed("c", jitter(90), {
      run: async () => {
        await world.sleep(jitter(90));
        // A back end that puts its keys in any order.
        return random.next() < 0.5 ? { x: 1, y: { p: 2, q: 3 } } : { y: { q: 3, p: 2 }, x: 1 };
      },
    }),
    world.timed("d", 1),
    world.timed("e", 0, { deadline: "300ms", run: () => new Promise(() => {}) }),
  ];
  const turn = world.turn(tools, {
    admit: ({ name }) => (name === "d" ? { blocked: "by policy" } : undefined),
    observe: (event) => {
      if (event.type === "call-end") ends.push(event.name);
      throw new Error("a hook that throws");
    },
  });
  const step = turn.step("anthropic-messages");
  const calls = ["a", "b", "c", "d", "e"].flatMap((name, index) => [
    {
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: `id_${name}`, name, input: {} },
    },
    { type: "content_block_stop", index },
  ]);
  for (const event of [
    { type: "message_start", message: { id: "m" } },
    ...calls,
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ]) {
    step.chunk(event);
  }
  let wallMs = 0;
  const messages = step.messages().then((all) => {
    wallMs = world.nowMs();
    return all;
  });
  await world.clock.run();
  return { results: await step.results(), bytes: JSON.stringify(await messages), wallMs, ends };
}

describe("RT-07: five calls of which one fails, one is blocked and one hangs", () => {
  it("have five results in call order, each with its own id", async () => {
    const { results, wallMs, ends } = await run(1);
    expect(results.map(({ id, status, isError }) => [id, status, isError])).toEqual([
      ["id_a", "ok", false],
      ["id_b", "failed", true],
      ["id_c", "ok", false],
      ["id_d", "blocked", true],
      ["id_e", "timeout", true],
    ]);
    expect(results.map(({ text }) => text)).toEqual([
      "a is done",
      "error: the tool failed without a message",
      '{"x":1,"y":{"p":2,"q":3}}',
      "error: blocked: by policy",
      "error: timeout after 300ms",
    ]);
    expect(wallMs).toBe(300);
    expect(ends).toEqual(["d", "b", "c", "a", "e"]);
  });

  it("are the same bytes in twenty runs, whoever finishes first", async () => {
    const first = await run(0);
    for (let seed = 1; seed < 20; seed += 1) {
      const again = await run(seed);
      expect(again.bytes).toBe(first.bytes);
      expect(again.wallMs).toBe(300);
    }
    expect(JSON.parse(first.bytes)).toMatchObject([
      { role: "user", content: [{ tool_use_id: "id_a" }, { is_error: true }, {}, {}, {}] },
    ]);
  });

  it("keep what succeeded when the turn runs out of time", async () => {
    const world = runtimeWorld();
    const turn = world.turn(
      [world.timed("pay", 50, { effect: "irreversible" }), world.timed("slow", 900)],
      {
        deadline: "200ms",
      },
    );
    const step = turn.step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "pay")],
      [0, wholeCall(1, "slow")],
      [10, FINISH],
      [10, "[DONE]"],
    ]);
    await world.clock.run();
    expect(await step.messages()).toEqual([
      { role: "tool", tool_call_id: "c0", content: "pay is done" },
      { role: "tool", tool_call_id: "c1", content: "error: timeout: the turn's time is over" },
    ]);
  });
});
