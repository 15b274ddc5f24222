import { describe, expect, it } from "vitest";
import { type CallRequest, parseChatRequest, parseCompletionRequest } from "./call-request.ts";
import type { Fields } from "./fields.ts";

const messages = [{ role: "user", content: "two words" }];
const search = {
  type: "function",
  function: {
    name: "search",
    parameters: {
      type: "object",
      properties: { query: { type: "string" }, limit: { type: "integer", minimum: 1 } },
      required: ["query", "limit"],
    },
  },
};

function chat(extra: Fields): CallRequest {
  return parseChatRequest({ messages, ...extra });
}

describe("parseChatRequest", () => {
  it("counts the words of texts, parts and earlier tool calls, and ignores what has no effect", () => {
    const asked = parseChatRequest({
      messages: [
        { role: "system", content: [{ type: "text", text: "three words here" }] },
        { role: "user", content: "two words", name: "ann" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ function: { name: "search", arguments: '{"q": 1}' } }],
        },
      ],
      temperature: 0,
      stop: ["x"],
      max_tokens: null,
    });
    expect(asked.prompt.words).toBe(3 + 2 + 1 + 2);
    expect(asked).toMatchObject({ maxTokens: undefined, stream: false, includeUsage: false });
  });

  it("prefers max_completion_tokens, and reads stream options", () => {
    const asked = chat({
      max_tokens: 5,
      max_completion_tokens: 7,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(asked).toMatchObject({ maxTokens: 7, stream: true, includeUsage: true });
  });

  it.each([
    [{ messages: undefined }, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: "hello" }, "messages"],
    [{ messages: [null] }, "messages[0]"],
    [{ messages: [{ content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages[0].content"],
    [{ messages: [{ role: "user", content: ["x"] }] }, "messages[0].content[0]"],
    [
      { messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      "messages[0].content[0].type",
    ],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
    [{ max_tokens: 0 }, "max_tokens"],
    [{ max_tokens: -1 }, "max_tokens"],
    [{ max_tokens: "12" }, "max_tokens"],
    [{ max_tokens: 1.5 }, "max_tokens"],
    [{ max_completion_tokens: 0 }, "max_completion_tokens"],
    [{ n: 2 }, "n"],
    [{ logprobs: true }, "logprobs"],
    [{ stream: "yes" }, "stream"],
    [{ stream_options: [] }, "stream_options"],
    [{ model: 4 }, "model"],
    [{ manx: { output_tokens: 0 } }, "manx.output_tokens"],
    [{ manx: { tool_calls: [{}] } }, "manx.tool_calls[0].name"],
    [{ manx: { tool_calls: "f" } }, "manx.tool_calls"],
    [{ tool_choice: "required" }, "tool_choice"],
    [{ tools: [search], tool_choice: { function: { name: "serch" } } }, "tool_choice"],
    [{ tools: [search], tool_choice: "any" }, "tool_choice"],
    [{ tools: ["search"] }, "tools[0]"],
    [{ response_format: { type: "xml" } }, "response_format.type"],
  ])("refuses %j, naming %s", (extra, where) => {
    expect(() => chat(extra)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where }),
    );
  });

  it("bounds the number of scripted calls", () => {
    const calls = Array.from({ length: 129 }, () => ({ name: "f" }));
    expect(() => chat({ manx: { tool_calls: calls } })).toThrow(
      expect.objectContaining({ where: "manx.tool_calls", got: "a list of 129" }),
    );
    expect(chat({ manx: { tool_calls: calls.slice(1) } }).toolCalls).toHaveLength(128);
  });

  it("never repeats a long value in an error", () => {
    const secret = "x".repeat(500);
    try {
      chat({ max_tokens: secret });
      expect.unreachable();
    } catch (error) {
      expect(JSON.stringify(error).length).toBeLessThan(400);
    }
  });

  it("scripts tool calls, or makes the forced one from its schema", () => {
    const scripted = chat({ manx: { tool_calls: [{ name: "f", arguments: { a: 1 } }] } });
    expect(scripted.toolCalls).toEqual([{ name: "f", arguments: '{"a":1}' }]);
    const forced = chat({ tools: [search], tool_choice: { function: { name: "search" } } });
    expect(forced.toolCalls).toEqual([{ name: "search", arguments: '{"query":"","limit":1}' }]);
    expect(chat({ tools: [search], tool_choice: "required" }).toolCalls).toEqual(forced.toolCalls);
    expect(chat({ tools: [search] }).toolCalls).toEqual([]);
  });

  it("answers a wish for JSON with JSON", () => {
    const { schema } = { schema: search.function.parameters };
    const format = { type: "json_schema", json_schema: { name: "x", schema } };
    expect(chat({ response_format: format }).json).toBe('{"query":"","limit":1}');
    expect(chat({ response_format: { type: "json_object" } }).json).toBe("{}");
    expect(chat({}).json).toBeUndefined();
  });
});

describe("parseCompletionRequest", () => {
  it("takes a text, a list of one, or token ids", () => {
    const words = (prompt: unknown): number => parseCompletionRequest({ prompt }).prompt.words;
    expect([words("a b c"), words(["a b"]), words([9, 8, 7, 6])]).toEqual([3, 2, 4]);
  });

  it.each([
    [{}, "prompt"],
    [{ prompt: [] }, "prompt"],
    [{ prompt: ["a", "b"] }, "prompt"],
    [{ prompt: "a", echo: true }, "echo"],
    [{ prompt: "a", logprobs: 1 }, "logprobs"],
  ])("refuses %j, naming %s", (body, where) => {
    expect(() => parseCompletionRequest(body)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where }),
    );
  });
});
