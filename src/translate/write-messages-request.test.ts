import { describe, expect, it } from "vitest";
import {
  chat,
  hello,
  MESSAGES,
  messages,
  notedFields,
  weather,
} from "../../test/support/translated-requests.ts";

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
    ["tools[0].type", { tools: [{ type: "custom", custom: { name: "x" } }] }],
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
