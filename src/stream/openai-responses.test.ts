import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf, type Decoded, decode, everyByte, typesIn } from "../../test/support/wire-text.ts";
import { createDecoder } from "./stream-decoder.ts";

type Frame = { readonly type: string; readonly [field: string]: unknown };

function wireOf(frames: readonly Frame[]): string {
  return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
}

function read(...frames: readonly Frame[]): Decoded {
  return decode("openai-responses", wireOf(frames));
}

const created = {
  type: "response.created",
  response: { id: "resp_1", model: "gpt", status: "in_progress" },
};
const completed = {
  type: "response.completed",
  response: {
    id: "resp_1",
    model: "gpt",
    status: "completed",
    usage: {
      input_tokens: 37,
      input_tokens_details: { cached_tokens: 7, cache_write_tokens: 5 },
      output_tokens: 11,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 48,
    },
  },
};

function item(output_index: number, fields: object): Frame {
  return { type: "response.output_item.added", output_index, item: fields };
}
function done(output_index: number, fields: object): Frame {
  return { type: "response.output_item.done", output_index, item: fields };
}
function say(output_index: number, delta: string, type = "response.output_text.delta"): Frame {
  return { type, output_index, content_index: 0, delta };
}

const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "get", arguments: "" };
const args = "response.function_call_arguments.delta";
const message = { type: "message", id: "msg_1", role: "assistant", content: [] };

describe("the responses wire", () => {
  it("gives text, usage and an end", () => {
    const { completion, text, events } = read(
      created,
      { type: "response.in_progress", response: { id: "resp_1" } },
      item(0, message),
      {
        type: "response.content_part.added",
        output_index: 0,
        part: { type: "output_text", text: "" },
      },
      say(0, "Hel"),
      say(0, "lo"),
      { type: "response.output_text.done", output_index: 0, text: "Hello" },
      {
        type: "response.content_part.done",
        output_index: 0,
        part: { type: "output_text", text: "Hello" },
      },
      done(0, { ...message, content: [{ type: "output_text", text: "Hello" }] }),
      completed,
    );
    expect(text).toBe("Hello");
    expect(typesIn(events)).toEqual([
      "response-start",
      "block-start",
      "text-delta",
      "text-delta",
      "usage",
      "finish",
      "done",
    ]);
    expect(completion).toMatchObject({
      state: "complete",
      terminalMissing: false,
      id: "resp_1",
      model: "gpt",
      reason: "stop",
      rawReason: "completed",
      usageComplete: true,
      usage: {
        inputTokens: 37,
        outputTokens: 11,
        totalTokens: 48,
        cacheReadTokens: 7,
        cacheWriteTokens: 5,
        reasoningTokens: 4,
      },
    });
  });

  it("keeps parallel calls apart, whatever order their pieces come in", () => {
    const { completion } = read(
      item(0, { ...call, call_id: "A" }),
      item(1, { ...call, call_id: "B" }),
      say(1, '{"q":"b', args),
      say(0, '{"q":"a"}', args),
      say(1, '"}', args),
      done(1, { ...call, call_id: "B", arguments: '{"q":"b"}' }),
      done(0, { ...call, call_id: "A", arguments: '{"q":"a"}' }),
      completed,
    );
    expect(completion).toMatchObject({ reason: "tool_calls", mayRunTools: true, faults: 0 });
    const calls = completion.toolCalls.map((one) => [one.id, one.argumentsText, one.problem]);
    expect(calls).toEqual([
      ["B", '{"q":"b"}', null],
      ["A", '{"q":"a"}', null],
    ]);
  });

  it.each([
    [
      "only at the end of the arguments",
      [
        item(0, call),
        { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"q":1}' },
      ],
    ],
    ["only at the end of the item", [item(0, call), done(0, { ...call, arguments: '{"q":1}' })]],
    ["in an item that was never opened", [done(0, { ...call, arguments: '{"q":1}' })]],
    ["with the opening", [item(0, { ...call, arguments: '{"q":1}' })]],
    [
      "at every place",
      [
        item(0, call),
        say(0, '{"q":1}', args),
        { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"q":1}' },
        done(0, { ...call, arguments: '{"q":1}' }),
      ],
    ],
  ])("has the arguments once if they come %s", (_where, frames) => {
    const { completion } = read(...frames, completed);
    expect(completion.toolCalls).toMatchObject([
      { id: "call_1", name: "get", argumentsText: '{"q":1}', problem: null },
    ]);
  });

  it("runs a call once whose end is told twice", () => {
    const ended = done(0, { ...call, arguments: "{}" });
    const { completion } = read(item(0, call), say(0, "{}", args), ended, ended, completed);
    expect(completion.toolCalls).toHaveLength(1);
    expect(completion.faults).toBe(0);
  });

  it("has whole items of servers that send no deltas", () => {
    const { text, events } = read(
      done(0, { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] }),
      done(1, { ...message, content: [{ type: "output_text", text: "Hi" }] }),
      done(2, { ...message, content: [{ type: "refusal", refusal: "No" }] }),
      completed,
    );
    expect(text).toBe("Hi");
    expect(events).toContainEqual(expect.objectContaining({ type: "reasoning-delta", text: "Hm" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "refusal-delta", text: "No" }));
  });

  it("shows calls that the provider runs itself as such, and asks for none of them", () => {
    const { completion, events } = read(
      item(0, { type: "web_search_call", id: "ws", status: "in_progress" }),
      { type: "response.web_search_call.searching", output_index: 0 },
      done(0, { type: "web_search_call", id: "ws", status: "completed" }),
      say(1, "Found."),
      completed,
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool-start", name: "web_search_call", byServer: true }),
    );
    expect(completion).toMatchObject({ reason: "stop", mayRunTools: false });
  });

  it("reads reasoning in both forms, and its seal", () => {
    const { events } = read(
      item(0, { type: "reasoning", id: "rs", summary: [] }),
      say(0, "a", "response.reasoning_summary_text.delta"),
      { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 1 },
      say(0, "b", "response.reasoning_text.delta"),
      done(0, { type: "reasoning", id: "rs", encrypted_content: "ENC" }),
    );
    expect(typesIn(events).slice(0, 5)).toEqual([
      "block-start",
      "reasoning-delta",
      "block-start",
      "reasoning-delta",
      "reasoning-signature",
    ]);
    expect(events[4]).toMatchObject({ signature: "ENC" });
  });
});

describe("its ends", () => {
  const incomplete = (reason?: string): Frame => ({
    type: "response.incomplete",
    response: {
      status: "incomplete",
      incomplete_details: reason === undefined ? null : { reason },
    },
  });

  it.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
    ["steered", "other"],
    [undefined, "other"],
  ])("incomplete by %s is %s, and runs no tool", (raw, reason) => {
    const { completion } = read(item(0, call), say(0, "{}", args), incomplete(raw));
    expect(completion).toMatchObject({ state: "complete", reason, mayRunTools: false });
    expect(completion.rawReason).toBe(raw ?? "incomplete");
  });

  it.each([
    [
      {
        type: "response.failed",
        response: { error: { code: "rate_limit_exceeded", message: "m" } },
      },
      429,
    ],
    [{ type: "response.failed", response: { error: { code: "server_error", message: "m" } } }, 500],
    [{ type: "error", code: "server_error", message: "m", param: null, sequence_number: 3 }, 500],
    [{ type: "error", error: { type: "rate_limit_error", message: "m" } }, 429],
    [{ type: "novel", error: { message: "m", code: 503 } }, 503],
  ])("%j is an error", (frame, status) => {
    const { completion } = read(created, say(0, "x"), frame as Frame);
    expect(completion.state).toBe("error");
    expect(completion.error).toMatchObject({ message: "m", status });
  });

  it("a failure without a word about it is one too", () => {
    const { completion } = read(created, { type: "response.failed", response: {} });
    expect(completion.error?.message).toBe("response.failed");
  });

  it("[DONE] after the terminal event is late, and instead of it a degraded end", () => {
    const after = decode("openai-responses", `${wireOf([say(0, "x"), completed])}data: [DONE]\n\n`);
    expect(after.completion).toMatchObject({ state: "complete", lateFrames: 1 });
    const instead = decode(
      "openai-responses",
      `${wireOf([item(0, call), say(0, "{}", args)])}data: [DONE]\n\n`,
    );
    expect(instead.completion).toMatchObject({ terminalMissing: true, mayRunTools: false });
  });
});

describe("what cannot be read", () => {
  it.each([
    ["arguments of no call", [say(4, "{}", args)], "tool-ambiguous"],
    ["a response that is none", [{ type: "response.created", response: 3 }], "frame-shape"],
    ["an item that is none", [{ type: "response.output_item.added", item: null }], "frame-shape"],
  ])("%s is a fault", (_what, frames, code) => {
    expect(read(...frames, completed).completion.firstFault).toMatch(`${code}:`);
  });

  it("items that are never closed are bounded", () => {
    const many = Array.from({ length: 1_100 }, (_, i) => item(i, { type: "message" }));
    expect(read(...many).completion.faults).toBe(1_100 - 1_024 + 1);
  });

  it("is never thrown, and any cut reads alike", () => {
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ type: "function_call" }));
    const types = [created.type, item(0, {}).type, done(0, {}).type, args, completed.type, "error"];
    const frame = fc.record(
      {
        type: fc.oneof(fc.constantFrom(...types), fc.string()),
        output_index: fc.oneof(fc.nat(2), odd),
        item: odd,
        response: odd,
        delta: odd,
        arguments: odd,
        error: odd,
      },
      { requiredKeys: ["type"] },
    );
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), (frames) => {
        const bytes = bytesOf(frames.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
        const whole = decode("openai-responses", bytes);
        expect(decode("openai-responses", bytes, everyByte(bytes))).toEqual(whole);
        expect(createDecoder("openai-responses").format).toBe("openai-responses");
      }),
      { numRuns: 60 },
    );
  });
});
