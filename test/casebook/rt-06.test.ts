/** RT-06 — Whole call in one chunk, object arguments, wrong finish_reason. */
import { describe, expect, it } from "vitest";
import { type Completion, encodeChatChunk } from "../../src/stream/index.ts";
import { runtimeWorld } from "../support/runtime-world.ts";
import { chatWire, decode, delta } from "../support/wire-text.ts";

const CALL = {
  tool_calls: [{ id: "", function: { name: "w", arguments: { city: "Oslo" } } }],
};

function run(...frames: readonly unknown[]): Completion {
  return decode("openai-chat", chatWire(...frames, "[DONE]")).completion;
}

describe("RT-06: a whole call in one chunk", () => {
  it.each([
    ["(a)", "stop", [delta(CALL), delta({}, "stop")]],
    ["(b)", "function_calls", [delta(CALL), delta({}, "function_calls")]],
    [
      "(d) after text,",
      "stop",
      [delta({ content: "Let me look" }), delta(CALL), delta({}, "stop")],
    ],
    ["in capitals,", "STOP", [delta(CALL), delta({}, "STOP")]],
    ["in the last chunk,", "end_turn", [delta(CALL, "end_turn")]],
  ])("%s with the reason %s is run once", (_, rawReason, frames) => {
    const completion = run(...frames);
    expect(completion).toMatchObject({ mayRunTools: true, reason: "tool_calls", rawReason });
    expect(completion.toolCalls).toMatchObject([
      { name: "w", argumentsText: '{"city":"Oslo"}', idGenerated: true, problem: null },
    ]);
    expect(completion.toolCalls[0]?.id).not.toBe("");
  });

  it("(c) that never came leaves a final answer, whatever the reason says", () => {
    const completion = run(delta({ content: "Done" }), delta({}, "tool_calls"));
    expect(completion).toMatchObject({
      state: "complete",
      mayRunTools: false,
      reason: "stop",
      rawReason: "tool_calls",
      toolCalls: [],
    });
  });

  it.each(["length", "content_filter"])("is not run when the answer was cut by %s", (reason) => {
    expect(run(delta(CALL), delta({}, reason)).mayRunTools).toBe(false);
  });

  it("is not run if an error followed, or another choice never finished", () => {
    const asked = delta(CALL, "tool_calls");
    expect(run(asked, { error: { message: "boom" } }).mayRunTools).toBe(false);
    const other = { choices: [{ index: 1, delta: { content: "Hm" } }] };
    const cut = decode("openai-chat", chatWire(other, asked)).completion;
    expect(cut).toMatchObject({ state: "incomplete", mayRunTools: false });
  });

  it("goes on downstream with the right reason", () => {
    const { events } = decode("openai-chat", chatWire(delta(CALL), delta({}, "stop"), "[DONE]"));
    const head = { id: "x", model: "m", createdS: 0 };
    const wire = events.map((event) => encodeChatChunk(head, event)).join("");
    expect(wire).toContain('"finish_reason":"tool_calls"');
    expect(wire).not.toContain('"finish_reason":"stop"');
  });
});

describe("RT-06: the runtime", () => {
  it.each(["stop", "function_calls", "end_turn", "tool_calls"])(
    "runs the call once after %s, and answers with the id that it made",
    async (reason) => {
      const world = runtimeWorld();
      const step = world
        .turn([world.timed("w", 5, { effect: "irreversible" })])
        .step("openai-chat");
      for (const frame of [delta({ content: "Let me look" }), delta(CALL), delta({}, reason)]) {
        step.chunk(frame);
      }
      step.end();
      await world.clock.run();
      expect(world.runs.map(({ args }) => args)).toEqual([{ city: "Oslo" }]);
      const { id } = step.completion.toolCalls[0]!;
      expect(await step.messages()).toEqual([
        { role: "tool", tool_call_id: id, content: "w is done" },
      ]);
    },
  );

  it("takes (c) for a final answer: nothing to run, nothing to send, so no loop", async () => {
    const world = runtimeWorld();
    const step = world.turn([world.timed("w", 5)]).step("openai-chat");
    step.chunk(delta({ content: "Done" }));
    step.chunk(delta({}, "tool_calls"));
    step.end();
    expect(step.verdict).toBe("no-calls");
    expect(await step.messages()).toEqual([]);
  });
});
