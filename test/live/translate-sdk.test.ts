/** The official clients read what `translate` writes, and it reads what they send. */
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import type { StreamFormat } from "../../src/stream/index.ts";
import {
  type Scripted,
  startTranslatingServer,
  type TranslatingServer,
} from "../support/translating-server.ts";
import { chatWire, delta, messagesWire } from "../support/wire-text.ts";

const CHAT = "openai-chat";
const RESPONSES = "openai-responses";
const MESSAGES = "anthropic-messages";

const servers: TranslatingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(client: StreamFormat, upstream: StreamFormat, answer: Scripted) {
  const server = await startTranslatingServer(client, upstream, answer);
  servers.push(server);
  return server;
}

async function openAi(client: StreamFormat, upstream: StreamFormat, answer: Scripted) {
  const server = await serve(client, upstream, answer);
  return {
    server,
    client: new OpenAI({ apiKey: "k", baseURL: `${server.url}/v1`, maxRetries: 0 }),
  };
}

async function anthropic(upstream: StreamFormat, answer: Scripted) {
  const server = await serve(MESSAGES, upstream, answer);
  return { server, client: new Anthropic({ apiKey: "k", baseURL: server.url, maxRetries: 0 }) };
}

const cassette = (name: string): Uint8Array =>
  readFileSync(new URL(`../../data/sse-cassettes/${name}.sse`, import.meta.url));

const user = { role: "user", content: "Weather and time in New York?" } as const;
const parameters = { type: "object" as const, properties: {} };
const chatCall = {
  model: "mine",
  messages: [user],
  tools: [{ type: "function" as const, function: { name: "get_weather", parameters } }],
};
const messageCall = {
  model: "mine",
  max_tokens: 64,
  messages: [user],
  tools: [{ name: "get", input_schema: parameters }],
};

/** A chat upstream that thinks, speaks and makes two calls. */
const chatStream = chatWire(
  delta({ role: "assistant", content: "" }),
  delta({ reasoning_content: "Hm." }),
  delta({ content: "I " }),
  delta({ content: "look." }),
  delta({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: "" } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"q": "Oslo, \\u00e9"' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
  delta({ tool_calls: [{ index: 1, id: "b", function: { name: "now", arguments: "" } }] }),
  delta({}, "tool_calls"),
  {
    id: "x",
    choices: [],
    usage: {
      prompt_tokens: 30,
      completion_tokens: 9,
      total_tokens: 39,
      prompt_tokens_details: { cached_tokens: 20 },
    },
  },
  "[DONE]",
);

const responsesStream = messagesWire(
  { type: "response.created", response: { id: "resp_1", model: "gpt" } } as never,
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "reasoning", id: "rs", summary: [] },
  } as never,
  { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Hm." } as never,
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { type: "reasoning", id: "rs", encrypted_content: "ENC" },
  } as never,
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { type: "message", id: "m", content: [] },
  } as never,
  { type: "response.output_text.delta", output_index: 1, delta: "Sunny." } as never,
  {
    type: "response.output_item.done",
    output_index: 1,
    item: { type: "message", id: "m", content: [{ type: "output_text", text: "Sunny." }] },
  } as never,
  {
    type: "response.output_item.added",
    output_index: 2,
    item: { type: "function_call", id: "fc", call_id: "a", name: "get", arguments: "" },
  } as never,
  { type: "response.function_call_arguments.delta", output_index: 2, delta: '{"q":1}' } as never,
  {
    type: "response.completed",
    response: {
      id: "resp_1",
      status: "completed",
      usage: {
        input_tokens: 8,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens: 5,
        total_tokens: 13,
      },
    },
  } as never,
);

/** An upstream that breaks off with an error, and one that just ends. */
const FAILING: ReadonlyArray<readonly [StreamFormat, string]> = [
  [CHAT, chatWire(delta({ content: "The " }), { error: { message: "Overloaded", code: 503 } })],
  [
    MESSAGES,
    messagesWire(
      { type: "message_start", message: { id: "m", model: "c" } } as never,
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as never,
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "The " },
      } as never,
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } as never,
    ),
  ],
];
const upstreamOf = (format: StreamFormat): string => FAILING.find(([one]) => one === format)![1];
/** The same without its last frame. */
const cutBeforeError = (wire: string): string =>
  wire.slice(0, wire.lastIndexOf("\n\n", wire.length - 3) + 2);

describe("the OpenAI client on Anthropic", () => {
  it("streams a chat completion with two calls", async () => {
    const { client, server } = await openAi(CHAT, MESSAGES, {
      stream: cassette("anthropic-two-tools"),
    });
    const stream = client.chat.completions.stream({
      ...chatCall,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    const [choice] = final.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    const calls = choice?.message.tool_calls?.map((one) => "function" in one && one.function);
    expect(calls).toMatchObject([
      { name: "get_weather", arguments: '{"location": "New York, NY"}' },
      { name: "get_time", arguments: '{"timezone": "America/New_York"}' },
    ]);
    expect(final).toMatchObject({
      model: "mine",
      usage: { prompt_tokens: 721, completion_tokens: 113 },
    });
    expect(server.translated[0]?.body).toMatchObject({
      model: "theirs",
      messages: [user],
      tools: [{ name: "get_weather", input_schema: parameters }],
      stream: true,
    });
  });

  it("streams a response", async () => {
    const { client } = await openAi(RESPONSES, MESSAGES, {
      stream: cassette("anthropic-two-tools"),
    });
    const stream = client.responses.stream({ model: "mine", input: user.content });
    let spoken = "";
    stream.on("response.output_text.delta", (event) => {
      spoken += event.delta;
    });
    const final = await stream.finalResponse();
    expect(final.status).toBe("completed");
    expect(spoken.length).toBeGreaterThan(10);
    expect(final.output_text).toBe(spoken);
    expect(final.output.filter((one) => one.type === "function_call")).toMatchObject([
      { name: "get_weather", arguments: '{"location": "New York, NY"}', status: "completed" },
      { name: "get_time", arguments: '{"timezone": "America/New_York"}', status: "completed" },
    ]);
    expect(final.usage).toMatchObject({ input_tokens: 721, output_tokens: 113, total_tokens: 834 });
  });

  it("numbers every event of a response without a gap", async () => {
    const { client } = await openAi(RESPONSES, CHAT, { stream: chatStream });
    const stream = await client.responses.create({ model: "mine", input: "Hi", stream: true });
    const numbers: number[] = [];
    const types: string[] = [];
    for await (const event of stream) {
      numbers.push(event.sequence_number);
      types.push(event.type);
    }
    expect(numbers).toEqual(numbers.map((_, i) => i));
    expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(types.at(-1)).toBe("response.completed");
    const count = (type: string): number => types.filter((one) => one === type).length;
    expect(count("response.output_item.added")).toBe(4);
    expect(count("response.output_item.done")).toBe(4);
  });

  it("gets a whole answer in both of its APIs", async () => {
    const whole = {
      id: "msg",
      type: "message",
      model: "c",
      content: [{ type: "text", text: "Sunny." }],
      stop_reason: "end_turn",
      usage: { input_tokens: 4, output_tokens: 2, cache_read_input_tokens: 6 },
    };
    const chat = await openAi(CHAT, MESSAGES, { whole });
    const completion = await chat.client.chat.completions.create(chatCall);
    expect(completion).toMatchObject({
      choices: [{ message: { content: "Sunny." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 6 } },
    });
    const responses = await openAi(RESPONSES, MESSAGES, { whole });
    const response = await responses.client.responses.create({ model: "mine", input: "Hi" });
    expect(response.output_text).toBe("Sunny.");
  });

  it("throws what the upstream says in the middle of a stream", async () => {
    const { client } = await openAi(CHAT, MESSAGES, { stream: upstreamOf(MESSAGES) });
    const stream = client.chat.completions.stream(chatCall);
    await expect(stream.finalChatCompletion()).rejects.toThrow("Overloaded");
    const responses = await openAi(RESPONSES, MESSAGES, { stream: upstreamOf(MESSAGES) });
    const final = await responses.client.responses
      .stream({ model: "m", input: "Hi" })
      .finalResponse();
    expect(final).toMatchObject({ status: "failed", error: { message: "Overloaded" } });
  });

  it("does not take a cut stream for an answer", async () => {
    const { client } = await openAi(CHAT, MESSAGES, {
      stream: cutBeforeError(upstreamOf(MESSAGES)),
    });
    await expect(client.chat.completions.stream(chatCall).finalChatCompletion()).rejects.toThrow(
      /finish_reason|end/i,
    );
    const responses = await openAi(RESPONSES, MESSAGES, {
      stream: cutBeforeError(upstreamOf(MESSAGES)),
    });
    const final = await responses.client.responses
      .stream({ model: "m", input: "Hi" })
      .finalResponse();
    expect(final.status).not.toBe("completed");
  });

  it("knows the kind of an error that came before the stream", async () => {
    const error = { type: "error", error: { type: "rate_limit_error", message: "slow down" } };
    const { client } = await openAi(CHAT, MESSAGES, { status: 429, error });
    await expect(client.chat.completions.create(chatCall)).rejects.toThrow(OpenAI.RateLimitError);
  });
});

describe("the Anthropic client on OpenAI", () => {
  it("streams a message of a chat upstream", async () => {
    const { client, server } = await anthropic(CHAT, { stream: chatStream });
    const final = await client.messages.stream(messageCall).finalMessage();
    expect(final.stop_reason).toBe("tool_use");
    expect(final.content).toMatchObject([
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "a", name: "get", input: { q: "Oslo, é" } },
      { type: "tool_use", id: "b", name: "now", input: {} },
    ]);
    expect(final.usage).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 20,
      output_tokens: 9,
    });
    expect(server.translated[0]?.body).toMatchObject({
      stream_options: { include_usage: true },
      tools: [{ type: "function", function: { name: "get", parameters } }],
    });
  });

  it("streams a message of a responses upstream", async () => {
    const { client } = await anthropic(RESPONSES, { stream: responsesStream });
    const final = await client.messages.stream(messageCall).finalMessage();
    expect(final).toMatchObject({ stop_reason: "tool_use", model: "mine" });
    expect(final.content).toMatchObject([
      { type: "thinking", thinking: "Hm.", signature: "manx.openai.encrypted:ENC" },
      { type: "text", text: "Sunny." },
      { type: "tool_use", id: "a", input: { q: 1 } },
    ]);
    expect(final.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 3 });
  });

  it("gets a whole message", async () => {
    const message = { role: "assistant", content: "Sunny." };
    const whole = {
      id: "c",
      choices: [{ index: 0, message, finish_reason: "length" }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    };
    const { client } = await anthropic(CHAT, { whole });
    expect(await client.messages.create(messageCall)).toMatchObject({
      content: [{ type: "text", text: "Sunny." }],
      stop_reason: "max_tokens",
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  });

  it("throws what the upstream says in the middle of a stream", async () => {
    const { client } = await anthropic(CHAT, { stream: upstreamOf(CHAT) });
    await expect(client.messages.stream(messageCall).finalMessage()).rejects.toThrow("Overloaded");
  });

  it("does not take a cut stream for an answer", async () => {
    const { client } = await anthropic(CHAT, { stream: cutBeforeError(upstreamOf(CHAT)) });
    const stream = client.messages.stream(messageCall);
    let isWhole = false;
    stream.on("message", () => {
      isWhole = true;
    });
    await expect(stream.finalMessage()).rejects.toThrow();
    expect(isWhole).toBe(false);
  });

  it("knows the kind of an error that came before the stream", async () => {
    const error = {
      error: { message: "who?", type: "invalid_request_error", code: "invalid_api_key" },
    };
    const { client } = await anthropic(CHAT, { status: 401, error });
    await expect(client.messages.create(messageCall)).rejects.toThrow(
      Anthropic.AuthenticationError,
    );
  });
});

describe("a tool loop of the Anthropic client on a responses upstream", () => {
  it("sends encrypted reasoning back to where it came from", async () => {
    const { client, server } = await anthropic(RESPONSES, { stream: responsesStream });
    const first = await client.messages.stream(messageCall).finalMessage();
    const result = { type: "tool_result" as const, tool_use_id: "a", content: "4 °C" };
    await client.messages
      .stream({
        ...messageCall,
        messages: [
          user,
          { role: "assistant", content: first.content },
          { role: "user", content: [result] },
        ],
      })
      .finalMessage();
    expect(server.translated[1]?.body.input).toMatchObject([
      { role: "user" },
      { type: "reasoning", summary: [{ text: "Hm." }], encrypted_content: "ENC" },
      { role: "assistant", content: "Sunny." },
      { type: "function_call", call_id: "a", arguments: '{"q":1}' },
      { type: "function_call_output", call_id: "a", output: "4 °C" },
    ]);
  });
});
