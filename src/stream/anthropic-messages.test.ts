import { describe, expect, it } from "vitest";
import { decode, messagesWire, typesIn } from "../../test/support/wire-text.ts";
import { StreamTimeline } from "./timeline.ts";

describe("accents of the messages wire", () => {
  const start = { type: "message_start", message: { id: "x", model: "m" } };
  const open = (content_block: object, index = 0) => ({
    type: "content_block_start",
    index,
    content_block,
  });

  it("calls that the provider runs are not the client's", () => {
    const search = { type: "server_tool_use", id: "s", name: "web_search", input: { q: 1 } };
    const wire = messagesWire(
      start,
      open(search) as never,
      { type: "content_block_stop", index: 0 } as never,
      open({ type: "web_search_tool_result", content: [] }, 1) as never,
      { type: "message_delta", delta: { stop_reason: "end_turn" } } as never,
      { type: "message_stop" },
    );
    const { completion, events } = decode("anthropic-messages", wire);
    expect(completion).toMatchObject({ reason: "stop", mayRunTools: false });
    expect(completion.toolCalls).toMatchObject([{ byServer: true, argumentsText: '{"q":1}' }]);
    expect(events).toContainEqual(expect.objectContaining({ type: "block-start", kind: "other" }));
  });

  it.each([
    ["stop_sequence", "stop"],
    ["pause_turn", "pause"],
    ["refusal", "content_filter"],
    ["model_context_window_exceeded", "length"],
    ["novel_reason", "other"],
  ])("calls are not run at %s", (stop_reason, reason) => {
    const wire = messagesWire(
      start,
      open({ type: "tool_use", id: "t", name: "get", input: {} }) as never,
      { type: "message_delta", delta: { stop_reason } } as never,
      { type: "message_stop" },
    );
    const { completion } = decode("anthropic-messages", wire);
    expect(completion).toMatchObject({ reason, rawReason: stop_reason, mayRunTools: false });
  });

  it("a frame without a type is what its event says", () => {
    const wire = 'event: content_block_delta\ndata: {"delta":{"type":"text_delta","text":"a"}}\n\n';
    expect(decode("anthropic-messages", wire).text).toBe("a");
  });

  it("a call whose block was not stopped ends before the message does", () => {
    const opened = open({ type: "tool_use", id: "a", name: "get", input: {} }) as never;
    const { events } = decode(
      "anthropic-messages",
      messagesWire(start, opened, { type: "message_stop" }),
    );
    expect(typesIn(events).slice(-2)).toEqual(["tool-end", "done"]);
  });

  it("a block that opens under an index in use ends the call before it", () => {
    const callBlock = (id: string): never => open({ type: "tool_use", id, name: "get" }) as never;
    const wire = messagesWire(start, callBlock("a"), callBlock("b"));
    const { events, completion } = decode("anthropic-messages", wire);
    expect(typesIn(events).slice(1, 4)).toEqual(["tool-start", "tool-end", "tool-start"]);
    expect(completion.toolCalls).toMatchObject([{ id: "a", argumentsText: "{}" }]);
  });

  it("redacted thinking is output that nobody sees; the second start opens nothing", () => {
    const wire = messagesWire(
      start,
      start,
      open({ type: "redacted_thinking", data: "AA" }) as never,
    );
    const { events } = decode("anthropic-messages", wire);
    const thought = ["block-start", "reasoning-delta", "reasoning-signature"];
    expect(typesIn(events)).toEqual(["response-start", ...thought, "fault"]);
    expect(events[3]).toMatchObject({ signature: "AA" });
    const timeline = new StreamTimeline({ intendedUs: -5 });
    timeline.add(events);
    expect(timeline.metrics()).toMatchObject({ ttftUs: 5, ttfvtUs: null, chunks: 1 });
  });
});

describe("fields of a form that cannot be read", () => {
  it.each([
    ["message", { type: "message_start", message: null }],
    ["content_block", { type: "content_block_start", index: 0 }],
    ["delta", { type: "content_block_delta", index: 0, delta: [] }],
    [
      "arguments outside of a tool block",
      { type: "content_block_delta", delta: { type: "input_json_delta", partial_json: "{}" } },
    ],
  ])("are a fault of messages that names the %s", (field, frame) => {
    const { completion } = decode(
      "anthropic-messages",
      messagesWire(frame, { type: "message_stop" }),
    );
    expect(completion).toMatchObject({
      faults: 1,
      firstFault: `frame-shape: ${field} cannot be read`,
    });
  });
});
