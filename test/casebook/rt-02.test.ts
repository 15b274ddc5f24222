/** RT-02 — No arguments. */
import { describe, expect, it } from "vitest";
import type { ToolEnd } from "../../src/stream/index.ts";
import { FINISH, runtimeWorld } from "../support/runtime-world.ts";
import { chatWire, decode, delta, messagesWire } from "../support/wire-text.ts";

/** A chat call whose arguments come in these pieces. */
function chatCall(...pieces: readonly unknown[]): readonly ToolEnd[] {
  const frames = pieces.map((args, i) => {
    const opening = i === 0 && { id: "A", function: { name: "now", arguments: args } };
    return delta({ tool_calls: [{ index: 0, function: { arguments: args }, ...opening }] });
  });
  const wire = chatWire(...frames, delta({}, "tool_calls"), "[DONE]");
  const { completion } = decode("openai-chat", wire);
  expect(completion).toMatchObject({ mayRunTools: true, faults: 0 });
  return completion.toolCalls;
}

/** An Anthropic call with this input at its opening and these deltas. */
function messagesCall(input: unknown, ...pieces: readonly string[]): readonly ToolEnd[] {
  const content_block = { type: "tool_use", id: "A", name: "now", input };
  const deltas = pieces.map((partial_json) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json },
  }));
  const wire = messagesWire(
    { type: "message_start", message: { id: "msg_1" } } as never,
    { type: "content_block_start", index: 0, content_block } as never,
    ...deltas,
    { type: "content_block_stop", index: 0 } as never,
    { type: "message_delta", delta: { stop_reason: "tool_use" } } as never,
    { type: "message_stop" },
  );
  const { completion } = decode("anthropic-messages", wire);
  expect(completion).toMatchObject({ mayRunTools: true, faults: 0 });
  return completion.toolCalls;
}

describe("RT-02: a call", () => {
  it.each([
    ["(a) an empty text", () => chatCall("")],
    ["(a) an empty text, Anthropic", () => messagesCall({}, "")],
    ["(b) no delta at all", () => messagesCall({})],
    ["(c) an empty text, then {}", () => chatCall("", "{}")],
    ["(d) blanks", () => chatCall("  \n")],
    ["(f) null", () => chatCall(null)],
    ["(f) null as text", () => chatCall("null")],
    ["no field", () => chatCall(undefined)],
  ])("with %s is one call with {}", (_, run) => {
    expect(run()).toMatchObject([{ argumentsText: "{}", problem: null, name: "now" }]);
  });

  it.each([
    ["(e) after an empty text", () => chatCall("", '{"q":1}')],
    ["(e) after an empty input", () => messagesCall({}, "", '{"q":1}')],
    ["(g) in the opening only", () => messagesCall({ q: 1 })],
    ["(g) in the opening, then an empty text", () => messagesCall({ q: 1 }, "")],
  ])("with arguments %s has them", (_, run) => {
    expect(run()).toMatchObject([{ argumentsText: '{"q":1}', problem: null }]);
  });

  it.each([
    ["(h) half of them", '{"q"'],
    ["an array", "[1]"],
    ["a bare word", "now"],
    ["two objects", '{"q":1}{"q":2}'],
  ])("with %s must not be run", (_, text) => {
    expect(chatCall(text)).toMatchObject([
      { argumentsText: text, problem: expect.stringContaining("no whole JSON object") },
    ]);
  });
});

describe("RT-02: a tool without parameters", () => {
  async function run(pieces: readonly unknown[], input = (value: unknown) => value) {
    const world = runtimeWorld();
    const step = world.turn([world.timed("now", 5, { input })]).step("openai-chat");
    for (const [i, args] of pieces.entries()) {
      const opening = i === 0 && { id: "A", function: { name: "now", arguments: args } };
      step.chunk(delta({ tool_calls: [{ index: 0, function: { arguments: args }, ...opening }] }));
    }
    step.chunk(FINISH);
    step.end();
    await world.clock.run();
    return { runs: world.runs.map(({ args }) => args), results: await step.results() };
  }

  it.each([[[""]], [["", "{}"]], [["  \n"]], [[null]], [["null"]]])(
    "with %j runs once",
    async (pieces) => {
      const { runs, results } = await run(pieces);
      expect(runs).toEqual([{}]);
      expect(results).toMatchObject([{ id: "A", status: "ok" }]);
    },
  );

  it("with half of its arguments is an error for the model, and not run", async () => {
    const { runs, results } = await run(['{"q"']);
    expect(runs).toEqual([]);
    expect(results).toMatchObject([{ id: "A", status: "invalid", isError: true }]);
  });

  it("that needs some says which, and not that the JSON is bad", async () => {
    const { results } = await run([""], () => {
      throw new Error("q: is needed");
    });
    expect(results[0]?.text).toBe("error: the arguments do not fit: q: is needed");
  });
});
