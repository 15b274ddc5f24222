/** Streams that break off past their first content and go on at another upstream, as the official clients see them. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { metric } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  messagesStream,
  type ReplayServer,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

type Json = Record<string, unknown>;

function chatChunk(id: string, delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const head = { id, object: "chat.completion.chunk", created: 17, model: `of ${id}` };
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
}

/** @param last instead of an end. */
function chat(id: string, texts: readonly string[], last?: Step): Step[] {
  const usage = { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 };
  const counted = {
    id,
    object: "chat.completion.chunk",
    created: 17,
    model: "m",
    choices: [],
    usage,
  };
  return [
    { bytes: EVENT_STREAM_HEAD },
    { bytes: chunk(chatChunk(id, { role: "assistant", content: "" })) },
    ...texts.map((content) => ({ bytes: chunk(chatChunk(id, { content })) })),
    ...(last === undefined
      ? [
          { bytes: chunk(chatChunk(id, {}, "stop")) },
          { bytes: chunk(`data: ${JSON.stringify(counted)}\n\n${CHAT_DONE}`) },
          { bytes: LAST_CHUNK },
        ]
      : [last]),
  ];
}

function message(id: string, texts: readonly string[], last?: Step): Step[] {
  return messagesStream({
    ...{ id, model: `of ${id}`, texts, inputTokens: 10, outputTokens: 6 },
    ...(last !== undefined && { last }),
  });
}

async function server(script: (hit: Hit) => readonly Step[]): Promise<ReplayServer> {
  const started = await startReplayServer(script);
  onTestFinished(() => started.close());
  return started;
}

interface Sides {
  readonly first: readonly Step[];
  readonly second: readonly Step[];
  readonly formats?: readonly ["openai" | "anthropic", "openai" | "anthropic"];
  readonly policy?: object;
}

async function sides({ first, second, formats = ["openai", "openai"], policy = {} }: Sides) {
  const one = await server(() => first);
  const other = await server(() => second);
  const { gateway } = await configuredGateway({
    upstreams: [
      { name: "one", url: one.url, format: formats[0] },
      { name: "other", url: other.url, format: formats[1], canPrefill: true, kind: "vllm" },
    ],
    models: [
      {
        name: "m",
        targets: [
          { upstream: "one", order: 0 },
          { upstream: "other", order: 1 },
        ],
      },
    ],
    policies: { default: { stall: { continueByPrefill: true }, ...policy } },
  });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
  const asked = (): Json => JSON.parse(other.hits[0]!.body) as Json;
  return { one, other, gateway, openai, anthropic, asked };
}

const ask = { messages: [{ role: "user" as const, content: "Tell me a story." }] };
const broken: Step = { bytes: chunk('data: {"id":"c-1","choi'), end: "rst" };

describe("a chat that is cut within a frame", () => {
  it("goes on with the same id, one role, and the tokens of one answer", async () => {
    const { openai, asked, gateway } = await sides({
      first: chat("c-1", ["Once upon ", "a time "], broken),
      second: chat("c-2", ["there was", " a cat."]),
    });
    const stream = await openai.chat.completions.create({
      ...{ model: "m", max_tokens: 100, stream: true, stream_options: { include_usage: true } },
      ...ask,
    });
    const chunks = [];
    for await (const one of stream) chunks.push(one);
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe(
      "Once upon a time there was a cat.",
    );
    expect(deltas.filter(({ role }) => role !== undefined)).toHaveLength(1);
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(["c-1"]));
    expect(new Set(chunks.map(({ created }) => created))).toEqual(new Set([17]));
    const finishes = chunks.flatMap(({ choices }) => choices.map((one) => one.finish_reason));
    expect(finishes.filter((one) => one != null)).toEqual(["stop"]);
    // 17 characters are about 5 tokens of the 20 that the second prompt has, and of the 6 + 5 that were said.
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 11 });
    expect(asked()).toMatchObject({
      messages: [...ask.messages, { role: "assistant", content: "Once upon a time" }],
      max_tokens: 95,
      continue_final_message: true,
      add_generation_prompt: false,
    });
    expect(await metric(gateway, 'manx_gateway_retries_total{reason="continue"}')).toBe(1);
  });

  it("does not say its last white space twice", async () => {
    const { openai } = await sides({
      first: chat("c-1", ["Once upon a time\n\n"], broken),
      second: chat("c-2", ["\n", "\nthere was"]),
    });
    const made = openai.chat.completions.stream({ model: "m", ...ask });
    expect(await made.finalContent()).toBe("Once upon a time\n\nthere was");
  });
});

describe("a message", () => {
  it("that stalls goes on at another of Anthropic's format, in the same block", async () => {
    const { anthropic, asked } = await sides({
      first: message("msg_1", ["Once upon a "], { afterMs: 60_000 }),
      second: message("msg_2", ["time."]),
      formats: ["anthropic", "anthropic"],
      policy: { timeouts: { progressGap: "150ms" } },
    });
    const stream = anthropic.messages.stream({ model: "m", max_tokens: 50, ...ask });
    const final = await stream.finalMessage();
    expect(final).toMatchObject({
      id: "msg_1",
      model: "of msg_1",
      content: [{ type: "text", text: "Once upon a time." }],
      stop_reason: "end_turn",
    });
    expect(asked().messages).toEqual([
      ...ask.messages,
      { role: "assistant", content: "Once upon a" },
    ]);
    expect(asked()).not.toHaveProperty("continue_final_message");
  });
});

describe("between formats", () => {
  it("a chat goes on where messages are spoken, and a message where chat is", async () => {
    const toAnthropic = await sides({
      first: chat("c-1", ["Once upon"], broken),
      second: message("msg_2", [" a time."]),
      formats: ["openai", "anthropic"],
    });
    const made = toAnthropic.openai.chat.completions.stream({ model: "m", ...ask });
    const completion = await made.finalChatCompletion();
    expect(completion).toMatchObject({
      id: "c-1",
      choices: [{ finish_reason: "stop", message: { content: "Once upon a time." } }],
    });
    const toOpenai = await sides({
      first: message("msg_1", ["Once upon"], { end: "rst" }),
      second: chat("c-2", [" a time."]),
      formats: ["anthropic", "openai"],
    });
    const stream = toOpenai.anthropic.messages.stream({ model: "m", max_tokens: 50, ...ask });
    const final = await stream.finalMessage();
    expect([final.id, final.content]).toEqual([
      "msg_1",
      [{ type: "text", text: "Once upon a time." }],
    ]);
  });

  it("a translated answer goes on as well", async () => {
    const { anthropic } = await sides({
      first: chat("c-1", ["Once upon"], broken),
      second: chat("c-2", [" a time."]),
    });
    const stream = anthropic.messages.stream({ model: "m", max_tokens: 50, ...ask });
    const final = await stream.finalMessage();
    expect([final.content, final.stop_reason]).toEqual([
      [{ type: "text", text: "Once upon a time." }],
      "end_turn",
    ]);
  });
});

describe("what is not gone on with", () => {
  const call = {
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "pay", arguments: "{" },
  };

  it.each<[string, Step[], object]>([
    [
      "a tool call",
      [
        { bytes: EVENT_STREAM_HEAD },
        { bytes: chunk(chatChunk("c-1", { content: "Now." })) },
        { bytes: chunk(chatChunk("c-1", { tool_calls: [call] })), end: "rst" },
      ],
      {},
    ],
    [
      "reasoning",
      [
        { bytes: EVENT_STREAM_HEAD },
        { bytes: chunk(chatChunk("c-1", { reasoning_content: "Hm" })), end: "rst" },
      ],
      {},
    ],
    [
      "JSON by a schema",
      chat("c-1", ['{"a":'], broken),
      { response_format: { type: "json_object" } },
    ],
    ["one of two choices", chat("c-1", ["Once"], broken), { n: 2 }],
    ["an answer at its limit", chat("c-1", ["Once"], broken), { max_tokens: 1 }],
  ])("%s ends with an error in band", async (_, first, more) => {
    const { gateway, other } = await sides({ first, second: chat("c-2", ["no"]) });
    const body = JSON.stringify({ model: "m", stream: true, ...ask, ...more });
    const { text } = await answer(`${gateway.url}/v1/chat/completions`, { body });
    expect(text).toContain("MANX_STREAM_INCOMPLETE");
    expect(text).not.toContain("[DONE]");
    expect(other.hits).toHaveLength(0);
  });

  it("where going on fails too, the caller is told, with nothing that looks like an end", async () => {
    for (const second of [
      [{ bytes: json(500, { error: { message: "no" } }) }],
      [{ bytes: json(200, { choices: [] }) }],
      chat("c-2", ["there"], { end: "rst" }),
    ]) {
      const { gateway } = await sides({ first: chat("c-1", ["Once upon"], broken), second });
      const body = JSON.stringify({ model: "m", stream: true, ...ask });
      const { text } = await answer(`${gateway.url}/v1/chat/completions`, { body });
      expect(text).toContain("MANX_");
      expect(text).toContain("Once upon");
      expect(text).not.toContain("[DONE]");
      expect(text).not.toContain("choi\n");
    }
  });
});
