/** Calls, endings and reasoning of translated streams, case by case. */
import { describe, expect, it } from "vitest";
import { translate } from "../../test/support/translated-streams.ts";
import { chatWire, decode, delta, messagesWire, typesIn } from "../../test/support/wire-text.ts";

describe("calls", () => {
  const fragment = (index: number, fields: object): object =>
    delta({ tool_calls: [{ index, ...fields }] });
  const opening = (index: number, id: string): object =>
    fragment(index, { id, function: { name: "get", arguments: "" } });
  const more = (index: number, json: string): object =>
    fragment(index, { function: { arguments: json } });

  it("whose arguments are mixed stay apart in blocks of their own", () => {
    const source = chatWire(
      opening(0, "A"),
      opening(1, "B"),
      more(0, '{"q":'),
      more(1, '{"q":"b'),
      more(0, '"a"}'),
      more(1, '"}'),
      delta({}, "tool_calls"),
      "[DONE]",
    );
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    const { completion } = decode("anthropic-messages", wire);
    expect(completion.toolCalls.map((one) => [one.id, one.argumentsText])).toEqual([
      ["A", '{"q":"a"}'],
      ["B", '{"q":"b"}'],
    ]);
    expect(wire.match(/content_block_start/g)).toHaveLength(4);
    expect(wire.match(/content_block_stop/g)).toHaveLength(4);
  });

  it("that are whole are closed by the next one, and only blanks may follow", () => {
    const calls = [opening(0, "A"), more(0, '{"q":1}'), opening(1, "B")];
    const good = translate("openai-chat", "anthropic-messages", chatWire(...calls, more(0, "\n")));
    expect(good.wire).toMatch(/content_block_stop","index":0[\s\S]*"id":"B"/);
    const end = [delta({}, "tool_calls"), "[DONE]"];
    const bad = translate(
      "openai-chat",
      "anthropic-messages",
      chatWire(...calls, more(0, "{}"), ...end),
    );
    expect(bad.isComplete).toBe(false);
    expect(decode("anthropic-messages", bad.wire).completion.error?.message).toContain(
      "after the end",
    );
  });

  it("without arguments have `{}` where a client would parse text", () => {
    const source = messagesWire(
      { type: "message_start", message: { id: "m", model: "c" } } as never,
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "t", name: "now", input: {} },
      } as never,
      { type: "content_block_stop", index: 0 } as never,
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} } as never,
      { type: "message_stop" },
    );
    const { wire } = translate("anthropic-messages", "openai-chat", source);
    expect(wire).toContain('"arguments":"{}"');
    expect(decode("openai-chat", wire).completion.mayRunTools).toBe(true);
  });

  it("that the provider runs itself are not shown to a client that cannot know them", () => {
    const source = messagesWire(
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      } as never,
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "t", name: "get", input: {} },
      } as never,
      { type: "message_delta", delta: { stop_reason: "tool_use" } } as never,
      { type: "message_stop" },
    );
    const { wire } = translate("anthropic-messages", "openai-chat", source);
    expect(wire).not.toContain("web_search");
    expect(wire).toContain('"tool_calls":[{"index":0,"id":"t"');
  });

  it("that get their name late are written once they have it", () => {
    const source = chatWire(
      fragment(0, { id: "A", function: { arguments: '{"q"' } }),
      fragment(0, { id: "A", function: { name: "get", arguments: ":1}" } }),
      delta({}, "tool_calls"),
      "[DONE]",
    );
    for (const to of ["anthropic-messages", "openai-responses"] as const) {
      const { wire } = translate("openai-chat", to, source);
      expect(decode(to, wire).completion.toolCalls).toMatchObject([
        { id: "A", name: "get", argumentsText: '{"q":1}', problem: null },
      ]);
    }
  });
});

describe("endings", () => {
  const hello = delta({ content: "Hello" });
  it.each([
    ["text without an end", [hello], false],
    ["[DONE] without a reason", [hello, "[DONE]"], true],
    ["a reason without [DONE]", [hello, delta({}, "stop")], true],
    ["a frame that is no JSON", [hello, "{oops", delta({}, "stop"), "[DONE]"], false],
  ])("%s", (_name, frames, isComplete) => {
    const out = translate("openai-chat", "anthropic-messages", chatWire(...frames));
    expect(out.isComplete).toBe(isComplete);
    expect(out.wire.includes("message_stop")).toBe(isComplete);
    expect(out.wire.includes('"stop_reason":"end_turn"')).toBe(
      isComplete && frames.length === 2 && frames[1] !== "[DONE]",
    );
  });

  it.each([
    ["anthropic-messages", "message_start", "message_stop"],
    ["openai-responses", "response.created", "response.completed"],
  ] as const)(
    "an answer without any content is an empty one in %s, with its frame",
    (to, first, last) => {
      const { wire, isComplete } = translate("openai-chat", to, chatWire("[DONE]"));
      expect(isComplete).toBe(true);
      expect(wire.startsWith(`event: ${first}\n`)).toBe(true);
      expect(wire).toContain(`event: ${last}\n`);
      expect(decode(to, wire).completion.state).toBe("empty");
    },
  );

  it("a second choice that nobody asked for is not mixed into the first", () => {
    const second = {
      id: "x",
      choices: [{ index: 1, delta: { content: "B" }, finish_reason: "stop" }],
    };
    const source = chatWire(hello, second, delta({}, "length"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(decode("anthropic-messages", wire)).toMatchObject({
      text: "Hello",
      completion: { reason: "length" },
    });
  });

  it("a refusal in words is one in Anthropic's reason too", () => {
    const source = chatWire(delta({ refusal: "No." }), delta({}, "stop"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(wire).toContain('"stop_reason":"refusal"');
    expect(decode("anthropic-messages", wire).text).toBe("No.");
  });

  it("usage that nobody reported is null, not 0", () => {
    const source = chatWire(hello, delta({}, "stop"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(wire).toContain('"usage":{"input_tokens":null,"output_tokens":null}');
  });
});

describe("reasoning that its provider wants back", () => {
  const thinking = messagesWire(
    { type: "message_start", message: { id: "m", model: "c" } } as never,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "" },
    } as never,
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking: "Hm" },
    } as never,
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "signature_delta", signature: "SIG" },
    } as never,
    { type: "content_block_stop", index: 0 } as never,
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "redacted_thinking", data: "RED" },
    } as never,
    { type: "message_delta", delta: { stop_reason: "end_turn" } } as never,
    { type: "message_stop" },
  );

  it("reaches a responses client sealed, by kind", () => {
    const { wire } = translate("anthropic-messages", "openai-responses", thinking);
    expect(wire).toContain('"encrypted_content":"manx.anthropic.signature:SIG"');
    expect(wire).toContain('"encrypted_content":"manx.anthropic.redacted:RED"');
    const { events } = decode("openai-responses", wire);
    expect(typesIn(events).filter((one) => one === "reasoning-signature")).toHaveLength(2);
  });

  it("is not invented for a chat client", () => {
    const { wire } = translate("anthropic-messages", "openai-chat", thinking);
    expect(wire).not.toMatch(/SIG|RED/);
    expect(wire).toContain('"reasoning_content":"Hm"');
  });

  it("of OpenAI reaches an Anthropic client as a signature", () => {
    const item = { id: "rs", type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] };
    const source = messagesWire(
      { type: "response.output_item.added", output_index: 0, item } as never,
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, encrypted_content: "ENC" },
      } as never,
    );
    const { wire } = translate("openai-responses", "anthropic-messages", source);
    expect(wire).toContain('{"type":"thinking_delta","thinking":"Hm"}');
    expect(wire).toContain('{"type":"signature_delta","signature":"manx.openai.encrypted:ENC"}');
  });
});
