import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isManxError } from "../core/index.ts";
import type { StreamFormat } from "../stream/index.ts";
import { type RequestOptions, translateRequest } from "./translate-request.ts";

const CHAT = "openai-chat";
const RESPONSES = "openai-responses";
const MESSAGES = "anthropic-messages";
const FORMATS: readonly StreamFormat[] = [CHAT, RESPONSES, MESSAGES];
const PAIRS = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const)).filter(
  ([from, to]) => from !== to,
);

const hello = [{ role: "user", content: "Hi" }];
const weather = {
  type: "function",
  function: { name: "get", description: "d", parameters: { type: "object", properties: {} } },
};

function chat(fields: object, to: StreamFormat = MESSAGES, options: RequestOptions = {}) {
  return translateRequest({ model: "m", messages: hello, ...fields }, CHAT, to, options);
}

function messages(fields: object, to: StreamFormat = CHAT) {
  return translateRequest(
    { model: "m", max_tokens: 100, messages: hello, ...fields },
    MESSAGES,
    to,
  );
}

function notedFields(result: { notes: readonly { field: string; action: string }[] }): string[] {
  return result.notes.map(({ field, action }) => `${action} ${field}`);
}

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((one) => {
  const trimmed = one.trim();
  return trimmed === one && trimmed !== "";
});
const name = fc.stringMatching(/^[a-z]{1,8}$/);
const image = fc.constantFrom("https://x.test/a.png", "data:image/png;base64,AAAA");
const userContent = fc.oneof(
  text,
  fc.tuple(text, image).map(([said, url]) => [
    { type: "text", text: said },
    { type: "image_url", image_url: { url } },
  ]),
);
/** A user's turn and an assistant's, the latter with up to three parallel calls and all of their results. */
const exchange = fc
  .tuple(
    userContent,
    fc.option(text, { nil: null }),
    fc.array(fc.tuple(name, text), { maxLength: 3 }),
  )
  .map(([content, said, calls]) => ({ content, said: calls.length === 0 ? "ok" : said, calls }));
const conversation = fc.array(exchange, { minLength: 1, maxLength: 4 }).map((exchanges) =>
  exchanges.flatMap(({ content, said, calls }, turn) => {
    const made = calls.map(([tool, value], i) => ({
      id: `call_${turn}_${i}`,
      type: "function",
      function: { name: tool, arguments: JSON.stringify({ q: value }) },
    }));
    const results = calls.map(([, value], i) => ({
      role: "tool",
      tool_call_id: `call_${turn}_${i}`,
      content: value,
    }));
    const assistant = {
      role: "assistant",
      content: said,
      ...(made.length > 0 && { tool_calls: made }),
    };
    return [{ role: "user", content }, assistant, ...results];
  }),
);
/** Without a tool result at the end, which would join the next user's turn. */
const request = fc
  .record({
    system: fc.option(text, { nil: undefined }),
    messages: conversation,
    limit: fc.integer({ min: 1, max: 5_000 }),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    stream: fc.boolean(),
    choice: fc.constantFrom("auto", "none", "required", {
      type: "function",
      function: { name: "get" },
    }),
    parallel: fc.boolean(),
    user: text,
  })
  .map((one) => ({
    model: "m",
    messages: [
      ...(one.system === undefined ? [] : [{ role: "system", content: one.system }]),
      ...joined(one.messages),
    ],
    max_completion_tokens: one.limit,
    temperature: one.temperature,
    ...(one.stream && { stream: true, stream_options: { include_usage: true } }),
    tools: [weather],
    tool_choice: one.choice,
    parallel_tool_calls: one.parallel,
    user: one.user,
  }));

/** What comes after results is in the same turn on the other wire; a plain assistant word keeps them apart. */
function joined(list: readonly { role: string }[]): object[] {
  return list.flatMap((one, i) =>
    one.role === "user" && list[i - 1]?.role === "tool"
      ? [{ role: "assistant", content: "so" }, one]
      : [one],
  );
}

describe("there and back", () => {
  it.each([MESSAGES, RESPONSES] as const)("chat by way of %s is the same request", (way) => {
    fc.assert(
      fc.property(request, (body) => {
        const before = JSON.stringify(body);
        const there = translateRequest(body, CHAT, way);
        const back = translateRequest(there.body, way, CHAT).body;
        expect(JSON.stringify(body)).toBe(before);
        // "One at a time" has no place beside "none" on Anthropic's API, and "several" is its default.
        const { parallel_tool_calls: parallel, ...expected } = body;
        const { parallel_tool_calls: parallelBack, ...got } = back;
        expect(got).toEqual(expected);
        const canSay = way === RESPONSES || (!parallel && body.tool_choice !== "none");
        expect(parallelBack).toBe(canSay ? parallel : undefined);
      }),
      { numRuns: 80 },
    );
  });

  it("messages by way of responses keep blocks, ids and their order", () => {
    fc.assert(
      fc.property(request, (body) => {
        const source = translateRequest(body, CHAT, MESSAGES).body;
        const there = translateRequest(source, MESSAGES, RESPONSES).body;
        expect(translateRequest(there, RESPONSES, MESSAGES).body.messages).toEqual(source.messages);
      }),
      { numRuns: 50 },
    );
  });
});

describe.each(PAIRS)("%s to %s", (from, to) => {
  it("answers anything with a request or a ManxError", () => {
    const fields = fc.dictionary(
      fc.constantFrom(
        "role",
        "type",
        "content",
        "text",
        "tool_calls",
        "input",
        "source",
        "url",
        "id",
      ),
      fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("user", "assistant", "tool", "text")),
    );
    const body = fc.dictionary(
      fc.constantFrom(
        "messages",
        "input",
        "system",
        "tools",
        "tool_choice",
        "stop",
        "thinking",
        "n",
      ),
      fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(fields)),
    );
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), body), fc.boolean(), (some, withModel) => {
        const value = withModel && typeof some === "object" ? { model: "m", ...some } : some;
        try {
          const { body: out } = translateRequest(value, from, to);
          expect(JSON.parse(JSON.stringify(out))).toBeDefined();
        } catch (thrown) {
          if (!isManxError(thrown)) throw thrown;
          expect(["MANX_REQUEST_INVALID", "MANX_TRANSLATE_FIELD"]).toContain(thrown.code);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("notes a field that it does not know", () => {
    const body = { model: "m", max_tokens: 9, messages: hello, input: "Hi", novel: 1 };
    expect(notedFields(translateRequest(body, from, to))).toContain("dropped novel");
  });

  it("tells what the caller wants", () => {
    const body = { model: "m", max_tokens: 9, messages: hello, input: "Hi", stream: true };
    const { body: out, wants } = translateRequest(body, from, to, { model: "theirs" });
    expect(wants).toEqual({ model: "m", isStream: true, includeUsage: from !== CHAT });
    expect(out).toMatchObject({ model: "theirs", stream: true });
  });
});

describe("chat to messages", () => {
  it("is a request that Anthropic takes", () => {
    const { body, notes } = chat({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "a", type: "function", function: { name: "get", arguments: '{"q":"Oslo"}' } },
            { id: "b", type: "function", function: { name: "get", arguments: "" } },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "4 °C" },
        { role: "tool", tool_call_id: "b", content: "?" },
        { role: "user", content: "So?" },
      ],
      tools: [weather],
      tool_choice: "required",
      parallel_tool_calls: false,
      max_tokens: 50,
      stop: "END",
      user: "u1",
      stream: true,
    });
    expect(notes).toEqual([]);
    expect(body).toEqual({
      model: "m",
      max_tokens: 50,
      system: "Be brief.",
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "a", name: "get", input: { q: "Oslo" } },
            { type: "tool_use", id: "b", name: "get", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "4 °C" },
            { type: "tool_result", tool_use_id: "b", content: "?" },
            { type: "text", text: "So?" },
          ],
        },
      ],
      tools: [{ name: "get", description: "d", input_schema: { type: "object", properties: {} } }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      stop_sequences: ["END"],
      stream: true,
      metadata: { user_id: "u1" },
    });
  });

  it.each([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["functions", { functions: [] }],
    ["web_search_options", { web_search_options: {} }],
    ["tools[0]", { tools: [{ type: "custom", custom: { name: "x" } }] }],
    [
      "messages[0].content[0].type",
      { messages: [{ role: "user", content: [{ type: "input_audio" }] }] },
    ],
    [
      "messages[0].content[0].file.file_id",
      { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] },
    ],
  ])("refuses %s with MANX_TRANSLATE_FIELD", (where, fields) => {
    expect(() => chat(fields)).toThrow(
      expect.objectContaining({ code: "MANX_TRANSLATE_FIELD", where }),
    );
  });

  it.each([
    ["messages", { messages: undefined }],
    ["model", { model: 3 }],
    ["messages[0].role", { messages: [{ content: "x" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
    ["temperature", { temperature: "hot" }],
    ["reasoning_effort", { reasoning_effort: "huge" }],
    ["stop[1]", { stop: ["a", 1] }],
  ])("refuses a malformed %s as the caller's mistake", (where, fields) => {
    expect(() => chat(fields)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where }),
    );
  });

  it("sets a limit where there is none, and prefers the newer of the two names", () => {
    expect(notedFields(chat({}))).toEqual(["added max_tokens"]);
    expect(chat({}, MESSAGES, { tokensMaxDefault: 77 }).body.max_tokens).toBe(77);
    expect(chat({ max_tokens: 1, max_completion_tokens: 2 }).body.max_tokens).toBe(2);
  });

  it("keeps what the API refuses away from it, with a note", () => {
    const odd = chat({
      messages: [
        { role: "user", content: "" },
        { role: "user", content: "Hi" },
        { role: "system", content: "late" },
        { role: "assistant", content: "So " },
      ],
      max_tokens: 9,
      temperature: 1.5,
      top_p: 0.5,
      stop: ["\n", "x"],
      seed: 4,
    });
    expect(odd.body).toMatchObject({
      system: "late",
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "So" },
      ],
      temperature: 1,
      stop_sequences: ["x"],
    });
    expect(odd.body).not.toHaveProperty("top_p");
    expect(notedFields(odd).sort()).toEqual([
      "changed messages",
      "changed temperature",
      "dropped seed",
      "dropped stop",
      "dropped top_p",
    ]);
  });

  it("writes ids with letters that the API takes, the same for a call and its result", () => {
    const { body } = chat({
      max_tokens: 9,
      messages: [
        {
          role: "assistant",
          tool_calls: ["a:1", "a.1", "ok"].map((id) => ({ id, function: { name: "f" } })),
        },
        ...["a:1", "a.1", "ok"].map((id) => ({ role: "tool", tool_call_id: id, content: id })),
      ],
    });
    const [assistant, user] = body.messages as {
      content: { id?: string; tool_use_id?: string }[];
    }[];
    const ids = assistant!.content.map((one) => one.id);
    expect(user!.content.map((one) => one.tool_use_id)).toEqual(ids);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/);
  });

  it("shows a model the call that it broke", () => {
    const call = { id: "a", function: { name: "f", arguments: '{"q"' } };
    const { body } = chat({ max_tokens: 9, messages: [{ role: "assistant", tool_calls: [call] }] });
    expect(body.messages).toMatchObject([{ content: [{ input: { invalid_json: '{"q"' } }] }]);
  });

  it("passes cache marks of clients that send them, the last four", () => {
    const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
    const content = Array.from({ length: 6 }, (_, i) => ({ type: "text", text: `${i}`, ...mark }));
    const { body } = chat({ max_tokens: 9, messages: [{ role: "user", content }] });
    const [user] = body.messages as { content: object[] }[];
    expect(user!.content.map((one) => "cache_control" in one)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  it("forbids no tool that the caller allows, and lists no other", () => {
    const other = { type: "function", function: { name: "other" } };
    const allowed = { mode: "required", tools: [{ type: "function", function: { name: "get" } }] };
    const { body } = chat({
      max_tokens: 9,
      tools: [weather, other],
      tool_choice: { type: "allowed_tools", allowed_tools: allowed },
    });
    expect(body).toMatchObject({ tools: [{ name: "get" }], tool_choice: { type: "any" } });
    expect(body.tools).toHaveLength(1);
  });

  it("asks for a schema, and leaves plain JSON to the prompt", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const format = { type: "json_schema", json_schema: { name: "x", schema } };
    const { body } = chat({ max_tokens: 9, response_format: format });
    expect(body.output_config).toEqual({ format: { type: "json_schema", schema } });
    const plain = chat({ max_tokens: 9, response_format: { type: "json_object" } });
    expect(notedFields(plain)).toEqual(["dropped response_format"]);
  });
});

describe("effort and thinking", () => {
  const think = (fields: object, model = "claude-sonnet-4-5") =>
    chat({ max_tokens: 20_000, ...fields }, MESSAGES, { model });

  it("is a budget for models up to 4.5, below the limit", () => {
    expect(think({ reasoning_effort: "high" }).body.thinking).toEqual({
      type: "enabled",
      budget_tokens: 16_384,
    });
    const tight = think({ reasoning_effort: "high", max_tokens: 4_000 });
    expect(tight.body.thinking).toEqual({ type: "enabled", budget_tokens: 3_999 });
    expect(think({ reasoning_effort: "low" }, "claude-3-7-sonnet-20250219").body.thinking).toEqual({
      type: "enabled",
      budget_tokens: 2_048,
    });
  });

  it.each([
    "claude-opus-4-6",
    "claude-opus-5-5",
    "anthropic/claude-sonnet-5",
    "claude-mythos-preview",
  ])("is adaptive for %s", (model) => {
    const { body } = think({ reasoning_effort: "xhigh" }, model);
    expect(body).toMatchObject({
      thinking: { type: "adaptive" },
      output_config: { effort: "xhigh" },
    });
  });

  it("off is off, and temperature goes where thinking stays", () => {
    expect(think({ reasoning_effort: "none" }).body.thinking).toEqual({ type: "disabled" });
    const warm = think({ reasoning_effort: "low", temperature: 0.2 });
    expect(warm.body).not.toHaveProperty("temperature");
    expect(notedFields(warm)).toEqual(["dropped temperature"]);
    expect(think({ temperature: 0.2 }).body.temperature).toBe(0.2);
    expect(think({ temperature: 0.2 }, "claude-opus-5").body).not.toHaveProperty("temperature");
  });

  it.each([
    ["a forced tool", { tools: [weather], tool_choice: "required" }],
    ["a small limit", { max_tokens: 1_024 }],
    [
      "a tool turn whose thinking did not come back",
      {
        messages: [
          ...hello,
          { role: "assistant", tool_calls: [{ id: "a", function: { name: "f" } }] },
          { role: "tool", tool_call_id: "a", content: "1" },
        ],
      },
    ],
  ])("gives way to %s", (_why, fields) => {
    const { body, notes } = think({ reasoning_effort: "high", ...fields });
    expect(body).not.toHaveProperty("thinking");
    expect(notes).toMatchObject([{ field: "reasoning_effort", action: "dropped" }]);
  });

  it("a budget is a word again on the way back", () => {
    const word = (tokens: number) =>
      messages({ thinking: { type: "enabled", budget_tokens: tokens } }).body.reasoning_effort;
    expect([1_024, 8_191, 8_192, 16_384, 60_000].map(word)).toEqual([
      "low",
      "low",
      "medium",
      "high",
      "high",
    ]);
    const adaptive = { thinking: { type: "adaptive" }, output_config: { effort: "max" } };
    expect(messages(adaptive).body.reasoning_effort).toBe("max");
  });
});

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

describe("notes", () => {
  it("name a kind of place once, and are bounded", () => {
    const many = Array.from({ length: 500 }, () => ({ role: "user", content: "x", name: "n" }));
    expect(notedFields(chat({ messages: many, max_tokens: 9 }))).toEqual([
      "dropped messages[0].name",
    ]);
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`novel${i}`, 1]));
    expect(chat(wide).notes).toHaveLength(64);
  });

  it("never hold a value of the body", () => {
    const secret = "hunter2";
    const { notes } = chat({
      novel: secret,
      messages: [{ role: "user", content: "x", name: secret }],
    });
    expect(JSON.stringify(notes)).not.toContain(secret);
  });
});
