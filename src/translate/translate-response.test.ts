import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isManxError } from "../core/index.ts";
import type { StreamFormat } from "../stream/index.ts";
import { translateError } from "./translate-error.ts";
import { translateResponse } from "./translate-response.ts";

const CHAT = "openai-chat";
const RESPONSES = "openai-responses";
const MESSAGES = "anthropic-messages";
const FORMATS: readonly StreamFormat[] = [CHAT, RESPONSES, MESSAGES];
const PAIRS = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const)).filter(
  ([from, to]) => from !== to,
);
const OPTIONS = { id: "gen", createdS: 5 };

function chatAnswer(message: object, finish_reason: string, usage?: object): object {
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason };
  return { id: "c", created: 7, model: "m", choices: [choice], ...(usage && { usage }) };
}

function message(content: object[], stop_reason: string, usage: object = {}): object {
  return { id: "msg", type: "message", role: "assistant", model: "m", content, stop_reason, usage };
}

describe("usage", () => {
  it("of Anthropic has its cached tokens apart, of OpenAI within", () => {
    const usage = {
      input_tokens: 4,
      output_tokens: 20,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 30,
      output_tokens_details: { thinking_tokens: 6 },
    };
    const there = translateResponse(message([], "end_turn", usage), MESSAGES, CHAT, OPTIONS);
    expect(there).toMatchObject({
      usage: {
        prompt_tokens: 134,
        completion_tokens: 20,
        total_tokens: 154,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 6 },
      },
    });
    expect(translateResponse(there, CHAT, MESSAGES, OPTIONS)).toMatchObject({ usage });
  });

  it("that is not known stays unknown", () => {
    const answer = chatAnswer({ content: "x" }, "stop");
    expect(translateResponse(answer, CHAT, MESSAGES, OPTIONS)).toMatchObject({
      usage: { input_tokens: null, output_tokens: null },
    });
    expect(translateResponse(answer, CHAT, RESPONSES, OPTIONS)).toMatchObject({ usage: null });
    expect(translateResponse(message([], "end_turn"), MESSAGES, CHAT, OPTIONS)).toMatchObject({
      usage: {},
    });
  });
});

describe("reasons", () => {
  it.each([
    ["stop", "end_turn", "completed"],
    ["length", "max_tokens", "incomplete"],
    ["content_filter", "refusal", "incomplete"],
  ])("%s is %s is %s", (chat, anthropic, status) => {
    const answer = chatAnswer({ content: "x" }, chat);
    const block = [{ type: "text", text: "x" }];
    expect(translateResponse(answer, CHAT, MESSAGES, OPTIONS)).toMatchObject({
      stop_reason: anthropic,
    });
    expect(translateResponse(answer, CHAT, RESPONSES, OPTIONS)).toMatchObject({ status });
    expect(translateResponse(message(block, anthropic), MESSAGES, CHAT, OPTIONS)).toMatchObject({
      choices: [{ finish_reason: chat }],
    });
  });

  it("a stop with calls asks for them, whatever the server called it", () => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: '{"q":1}' } };
    const answer = chatAnswer({ content: null, tool_calls: [call] }, "stop");
    expect(translateResponse(answer, CHAT, MESSAGES, OPTIONS)).toMatchObject({
      content: [{ type: "tool_use", id: "a", name: "f", input: { q: 1 } }],
      stop_reason: "tool_use",
    });
  });

  it("a refusal in words has Anthropic's reason; an end without a reason gets none", () => {
    const refused = chatAnswer({ content: null, refusal: "No." }, "stop");
    expect(translateResponse(refused, CHAT, MESSAGES, OPTIONS)).toMatchObject({
      content: [{ type: "text", text: "No." }],
      stop_reason: "refusal",
    });
    const bare = chatAnswer({ content: "x" }, "");
    expect(translateResponse(bare, CHAT, MESSAGES, OPTIONS)).toMatchObject({ stop_reason: null });
  });
});

describe("calls", () => {
  const call = (args: unknown) => ({ id: "", function: { name: "f", arguments: args } });

  it("without arguments and without id can be answered", () => {
    const answer = chatAnswer({ tool_calls: [call(""), call({ q: 1 })] }, "tool_calls");
    expect(translateResponse(answer, CHAT, MESSAGES, OPTIONS)).toMatchObject({
      content: [
        { id: "call_c_0", input: {} },
        { id: "call_c_1", input: { q: 1 } },
      ],
    });
    const block = { type: "tool_use", id: "t", name: "f", input: {} };
    expect(translateResponse(message([block], "tool_use"), MESSAGES, CHAT, OPTIONS)).toMatchObject({
      choices: [{ message: { content: null, tool_calls: [{ function: { arguments: "{}" } }] } }],
    });
  });

  it("with broken arguments are no answer, and left out if the limit cut them", () => {
    const broken = { tool_calls: [call('{"q"')] };
    expect(() =>
      translateResponse(chatAnswer(broken, "tool_calls"), CHAT, MESSAGES, OPTIONS),
    ).toThrow(expect.objectContaining({ code: "MANX_TRANSLATE_ANSWER", status: 502 }));
    const cut = translateResponse(chatAnswer(broken, "length"), CHAT, MESSAGES, OPTIONS);
    expect(cut).toMatchObject({ content: [], stop_reason: "max_tokens" });
  });
});

describe("reasoning", () => {
  const blocks = [
    { type: "thinking", thinking: "hm", signature: "SIG" },
    { type: "redacted_thinking", data: "RED" },
    { type: "text", text: "x" },
  ];

  it("travels sealed through a responses client, and as text to a chat client", () => {
    const answer = message(blocks, "end_turn");
    expect(translateResponse(answer, MESSAGES, RESPONSES, OPTIONS)).toMatchObject({
      output: [
        { type: "reasoning", encrypted_content: "manx.anthropic.signature:SIG" },
        { type: "reasoning", summary: [], encrypted_content: "manx.anthropic.redacted:RED" },
        { type: "message", content: [{ text: "x" }] },
      ],
    });
    const chat = translateResponse(answer, MESSAGES, CHAT, OPTIONS);
    expect(chat).toMatchObject({ choices: [{ message: { reasoning_content: "hm" } }] });
    expect(JSON.stringify(chat)).not.toMatch(/SIG|RED/);
  });
});

describe.each(PAIRS)("%s to %s", (from, to) => {
  it("names the answer as told, and falls back to what it was given", () => {
    const bare = { choices: [{ message: { content: "x" } }], content: [], output: [] };
    const named = { ...OPTIONS, model: "asked" };
    const out = translateResponse(bare, from, to, named) as { id: string; model: string };
    expect(out.id).toContain("gen");
    expect(out.model).toBe("asked");
  });

  it("answers anything with an answer or a ManxError", () => {
    const keys = ["choices", "content", "output", "message", "type", "status", "usage", "text"];
    const odd = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), odd), (body) => {
        try {
          expect(translateResponse(body, from, to, OPTIONS)).toBeTypeOf("object");
        } catch (thrown) {
          if (!isManxError(thrown)) throw thrown;
          expect(thrown.code).toBe("MANX_TRANSLATE_ANSWER");
        }
      }),
      { numRuns: 150 },
    );
  });

  it("an error is one in the caller's format, whatever the upstream sent", () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.jsonValue(), (status, body) => {
        const out = translateError(status, body, from, to);
        const { error } = out.body as { error: { type: string; message: string } };
        expect(error.type).toMatch(/^.+$/s);
        expect(error.message.length).toBeGreaterThan(0);
        expect(out.status >= 500).toBe(status >= 500);
        expect("type" in out.body).toBe(to === MESSAGES);
      }),
      { numRuns: 100 },
    );
  });
});

describe("errors", () => {
  const openAi = (fields: object): object => ({ error: { message: "m", ...fields } });
  const anthropic = (type: string, text = "m"): object => ({
    type: "error",
    error: { type, message: text },
  });

  it.each([
    [400, openAi({ type: "invalid_request_error" }), 400, "invalid_request_error"],
    [
      401,
      openAi({ type: "invalid_request_error", code: "invalid_api_key" }),
      401,
      "authentication_error",
    ],
    [404, openAi({ code: "model_not_found" }), 404, "not_found_error"],
    [422, { detail: [{ loc: ["body"], msg: "bad" }] }, 422, "invalid_request_error"],
    [429, openAi({ type: "tokens", code: "rate_limit_exceeded" }), 429, "rate_limit_error"],
    [500, openAi({ type: "server_error" }), 500, "api_error"],
    [503, { object: "error", message: "busy" }, 529, "overloaded_error"],
    [502, undefined, 502, "api_error"],
  ])("%s %j is %s %s to Anthropic's client", (status, body, expected, type) => {
    const out = translateError(status, body, CHAT, MESSAGES);
    expect(out.status).toBe(expected);
    expect(out.body).toMatchObject({ type: "error", error: { type } });
  });

  it.each([
    [401, "authentication_error", 401, "authentication_error", "invalid_api_key"],
    [429, "rate_limit_error", 429, "rate_limit_error", "rate_limit_exceeded"],
    [529, "overloaded_error", 503, "server_error", null],
    [400, "invalid_request_error", 400, "invalid_request_error", null],
  ])("%s %s is %s %s %s to OpenAI's client", (status, type, expected, openAiType, code) => {
    const out = translateError(status, anthropic(type), MESSAGES, CHAT);
    expect(out.status).toBe(expected);
    expect(out.body).toEqual({ error: { message: "m", type: openAiType, param: null, code } });
  });

  it("a prompt that is too long is told so that clients shorten it", () => {
    const long = openAi({ code: "context_length_exceeded", message: "max is 8" });
    expect(translateError(400, long, CHAT, MESSAGES).body).toMatchObject({
      error: { message: "prompt is too long: max is 8" },
    });
    const back = anthropic("invalid_request_error", "prompt is too long: 9 > 8");
    expect(translateError(400, back, MESSAGES, RESPONSES).body).toMatchObject({
      error: { code: "context_length_exceeded" },
    });
  });

  it("between OpenAI's two APIs stays as it is", () => {
    const body = openAi({ type: "t", param: "p", code: "c" });
    expect(translateError(400, body, RESPONSES, CHAT)).toEqual({ status: 400, body });
  });
});
