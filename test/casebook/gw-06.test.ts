/** GW-06 — When is an ended stream complete? */
import { describe, expect, it } from "vitest";
import { chatWire, decode, delta, messagesWire, typesIn } from "../support/wire-text.ts";

const HELLO = delta({ content: "Hello" });
const CALL = delta({
  tool_calls: [{ index: 0, id: "A", function: { name: "get", arguments: '{"pa' } }],
});
const START = { type: "message_start", message: { id: "msg_1", model: "m" } };
const BLOCK = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const TEXT = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "Hello" },
};
const STOP = { type: "content_block_stop", index: 0 };
const END_TURN = { type: "message_delta", delta: { stop_reason: "end_turn" } };

const CASES = [
  ["(1) text, then the end", "incomplete", chatWire(HELLO)],
  ["(2) text and [DONE], no finish", "terminal missing", chatWire(HELLO, "[DONE]")],
  ["(3) finish, no [DONE]", "terminal missing", chatWire(HELLO, delta({}, "stop"))],
  ["(4) reasoning only", "incomplete", chatWire(delta({ reasoning_content: "Let" }))],
  ["(5) half a tool call", "incomplete", chatWire(CALL)],
  ["(6) only [DONE]", "empty", chatWire("[DONE]")],
  ["text, finish and [DONE]", "complete", chatWire(HELLO, delta({}, "stop"), "[DONE]")],
  ["nothing at all", "incomplete", ""],
  [
    "(7) stop reason, no message_stop",
    "terminal missing",
    messagesWire(START, BLOCK, TEXT, STOP, END_TURN),
  ],
  [
    "a response without its terminal event",
    "incomplete",
    messagesWire(
      { type: "response.created", response: { id: "resp_1" } } as never,
      { type: "response.output_text.delta", output_index: 0, delta: "Hello" } as never,
      { type: "response.output_text.done", output_index: 0, text: "Hello" } as never,
    ),
  ],
  ["(8) a block that was not stopped", "incomplete", messagesWire(START, BLOCK, TEXT)],
] as const;

describe("GW-06: an ended stream", () => {
  it.each(CASES)("%s: %s", (_, expected, wire) => {
    const messages = wire.startsWith("event: response.")
      ? "openai-responses"
      : "anthropic-messages";
    const format = wire.startsWith("event:") ? messages : "openai-chat";
    const { completion, events } = decode(format, wire);
    const isTerminalMissing = expected === "terminal missing";
    expect(completion.state).toBe(isTerminalMissing ? "complete" : expected);
    expect(completion.toolCalls).toEqual([]);
    expect(completion.mayRunTools).toBe(false);
    expect(completion.usage.outputTokens).toBeNull();
    expect(completion.usageComplete).toBe(false);
    if (expected === "incomplete") {
      expect(completion.reason).toBeNull();
      expect(events.at(-1)).toMatchObject({ type: "fault", code: "stream-incomplete" });
      expect(typesIn(events)).not.toContain("done");
      expect(typesIn(events)).not.toContain("finish");
    }
    if (expected !== "empty") expect(completion.terminalMissing).toBe(isTerminalMissing);
  });

  it("is not whole before each choice that had begun has finished", () => {
    const second = { index: 1, delta: { content: "B" } };
    const both = chatWire({ choices: [second] }, HELLO, delta({}, "stop"));
    expect(decode("openai-chat", both).completion.state).toBe("incomplete");
    const finished = chatWire({ choices: [{ index: 1, delta: {}, finish_reason: "length" }] });
    const { completion } = decode("openai-chat", both + finished);
    expect(completion).toMatchObject({ state: "complete", reason: "stop" });
  });

  it("is empty if it finished without a word", () => {
    const wire = chatWire(delta({ role: "assistant", content: "" }), delta({}, "stop"), "[DONE]");
    expect(decode("openai-chat", wire).completion.state).toBe("empty");
  });

  it("keeps what came after the terminal frame out, and counts it", () => {
    const wire = chatWire(HELLO, delta({}, "stop"), "[DONE]", delta({ content: "!" }), "[DONE]");
    const { text, completion } = decode("openai-chat", wire);
    expect(text).toBe("Hello");
    expect(completion).toMatchObject({ state: "complete", lateFrames: 2 });
  });
});
