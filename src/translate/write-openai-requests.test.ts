import { describe, expect, it } from "vitest";
import {
  hello,
  MESSAGES,
  messages,
  notedFields,
  RESPONSES,
} from "../../test/support/translated-requests.ts";
import { translateRequest } from "./translate-request.ts";

describe("messages to OpenAI", () => {
  it("asks for usage in a stream, and drops marks with a note", () => {
    const system = [{ type: "text", text: "S", cache_control: { type: "ephemeral" } }];
    const result = messages({ stream: true, system, top_k: 5 });
    expect(result.body).toMatchObject({
      messages: [{ role: "system", content: "S" }, ...hello],
      max_completion_tokens: 100,
      stream_options: { include_usage: true },
    });
    expect(notedFields(result)).toEqual(["dropped top_k", "dropped system.cache_control"]);
  });

  it("puts results first and what a tool has shown behind them", () => {
    const source = { type: "base64", media_type: "image/png", data: "AA" };
    const { body, notes } = messages({
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "text", text: "I look." },
            { type: "tool_use", id: "a", name: "f", input: { q: 1 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Go on." },
            {
              type: "tool_result",
              tool_use_id: "a",
              is_error: true,
              content: [
                { type: "text", text: "1" },
                { type: "image", source },
              ],
            },
          ],
        },
      ],
    });
    expect(body.messages).toEqual([
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"q":1}' } }],
      },
      { role: "tool", tool_call_id: "a", content: "1" },
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
          { type: "text", text: "Go on." },
        ],
      },
    ]);
    expect(notes.map((one) => one.field)).toEqual([
      "messages[0].content[].thinking",
      "messages[1].content[].is_error",
      "messages[1].content",
    ]);
  });

  it.each([
    ["tools[0].type", { tools: [{ type: "web_search_20260318", name: "web_search" }] }],
    ["container", { container: "c" }],
    [
      "messages[0].content[0].type",
      { messages: [{ role: "user", content: [{ type: "search_result" }] }] },
    ],
    [
      "messages[0].content[0].source",
      {
        messages: [
          { role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] },
        ],
      },
    ],
  ])("refuses %s", (where, fields) => {
    expect(() => messages(fields)).toThrow(
      expect.objectContaining({ code: "MANX_TRANSLATE_FIELD", where }),
    );
  });

  it("a schema is strict for OpenAI only if strict mode takes it", () => {
    const closed = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const ask = (schema: object) =>
      messages({ output_config: { format: { type: "json_schema", schema } } }).body.response_format;
    expect(ask(closed)).toMatchObject({ json_schema: { strict: true, schema: closed } });
    expect(ask({ ...closed, required: [] })).toMatchObject({ json_schema: { strict: false } });
  });

  it("responses have no stop sequences", () => {
    expect(() => messages({ stop_sequences: ["x"] }, RESPONSES)).toThrow(
      expect.objectContaining({ code: "MANX_TRANSLATE_FIELD", where: "stop" }),
    );
  });
});

describe("responses to messages", () => {
  const ask = (fields: object) =>
    translateRequest(
      { model: "m", max_output_tokens: 9_000, input: "Hi", ...fields },
      RESPONSES,
      MESSAGES,
    );

  it.each([
    ["previous_response_id", { previous_response_id: "r" }],
    ["background", { background: true }],
    ["input[0].type", { input: [{ type: "item_reference", id: "x" }] }],
    ["tools[0].type", { tools: [{ type: "web_search" }] }],
  ])("refuses %s", (where, fields) => {
    expect(() => ask(fields)).toThrow(
      expect.objectContaining({ code: "MANX_TRANSLATE_FIELD", where }),
    );
  });

  it("gives Claude its own thinking back, so that it may go on thinking", () => {
    const input = [
      { role: "user", content: [{ type: "input_text", text: "Go" }] },
      {
        type: "reasoning",
        id: "rs",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "manx.anthropic.signature:SIG",
      },
      {
        type: "function_call",
        call_id: "a",
        name: "f",
        arguments: "{}",
        id: "fc",
        status: "completed",
      },
      { type: "function_call_output", call_id: "a", output: "1" },
    ];
    const { body, notes } = ask({ input, reasoning: { effort: "medium" } });
    expect(notes).toEqual([]);
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 8_192 });
    expect(body.messages).toEqual([
      { role: "user", content: "Go" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "SIG" },
          { type: "tool_use", id: "a", name: "f", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "1" }] },
    ]);
  });

  it("puts the results of a turn first", () => {
    const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "a", output: "1" };
    const { body } = ask({ input: [call, { role: "user", content: "Go on." }, output] });
    expect(body.messages).toMatchObject([
      { role: "assistant" },
      { role: "user", content: [{ type: "tool_result" }, { type: "text", text: "Go on." }] },
    ]);
  });

  it("does not give it another provider's", () => {
    const item = { type: "reasoning", summary: [], encrypted_content: "ENC" };
    const { body, notes } = ask({ input: [...hello, item] });
    expect(JSON.stringify(body)).not.toContain("ENC");
    expect(notes).toMatchObject([{ action: "dropped" }]);
  });
});
