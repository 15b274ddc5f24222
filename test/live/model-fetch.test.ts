/** Official clients on `modelFetch`, over real sockets: what they get, and what the upstream sees of it. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { streamText } from "ai";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ModelFetchOptions, modelFetch, Turn } from "../../src/runtime/index.ts";
import { until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  messagesStream,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

const messages = [{ role: "user" as const, content: "hi" }];
const busy = json(503, { error: { message: "busy", type: "server_error", code: "busy" } });

async function live(script: (hit: Hit) => readonly Step[], options: ModelFetchOptions = {}) {
  const upstream = await startReplayServer(script);
  onTestFinished(() => upstream.close());
  const fetch = modelFetch({ policy: { retry: { backoff: "5ms" } }, ...options });
  const openai = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: "k", fetch, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: upstream.url, apiKey: "k", fetch, maxRetries: 0 });
  return { upstream, fetch, openai, anthropic };
}

function chat(...texts: readonly string[]): Step[] {
  return [
    { bytes: EVENT_STREAM_HEAD },
    ...texts.map((text) => ({ bytes: chunk(chatText(text)) })),
    { bytes: chunk(chatText("", "stop") + CHAT_DONE) },
    { bytes: LAST_CHUNK },
  ];
}

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let text = "";
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
  return text;
}

describe("the openai client on modelFetch", () => {
  it("streams, after a refusal it never sees", async () => {
    const { upstream, openai, fetch } = await live((hit) =>
      hit === upstream.hits[0] ? [{ bytes: busy }] : chat("Hel", "lo"),
    );
    const stream = await openai.chat.completions.create({ model: "m", messages, stream: true });
    expect(await textOf(stream)).toBe("Hello");
    expect(upstream.hits).toHaveLength(2);
    expect(upstream.hits.map(({ body }) => body)).toEqual([
      upstream.hits[0]!.body,
      upstream.hits[0]!.body,
    ]);
    expect(fetch.stats()).toMatchObject({ calls: 1, attempts: 2, retries: 1, outcomes: { ok: 1 } });
    await until(() => fetch.stats().open === 0);
  });

  it("gets a whole answer whole", async () => {
    const answer = {
      id: "c",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello" } }],
    };
    const { openai } = await live(() => [{ bytes: json(200, answer) }]);
    const made = await openai.chat.completions.create({ model: "m", messages });
    expect(made.choices[0]?.message.content).toBe("Hello");
  });

  it("gets an error, not an end, where a stream stalls after its text", async () => {
    const { upstream, openai } = await live(
      () => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("Hel")) }],
      { policy: { timeouts: { progressGap: "80ms" } } },
    );
    const stream = await openai.chat.completions.create({ model: "m", messages, stream: true });
    await expect(textOf(stream)).rejects.toMatchObject({ code: "MANX_UPSTREAM_TIMEOUT" });
    await upstream.hits[0]!.closed;
  });

  it("closes the upstream's connection when it leaves the loop", async () => {
    const { upstream, openai, fetch } = await live(() => [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(chatText("Hel")) },
    ]);
    const stream = await openai.chat.completions.create({ model: "m", messages, stream: true });
    for await (const _ of stream) break;
    await upstream.hits[0]!.closed;
    expect(fetch.stats()).toMatchObject({ outcomes: { cancelled: 1 } });
    await until(() => fetch.stats().open === 0);
  });

  it("tells of an upstream that is not there in its own kind of error, once", async () => {
    const gone = await startReplayServer(() => []);
    await gone.close();
    const fetch = modelFetch({ policy: { retry: { attempts: 2, backoff: "1ms" } } });
    const openai = new OpenAI({ baseURL: `${gone.url}/v1`, apiKey: "k", fetch });
    const error = await openai.chat.completions.create({ model: "m", messages }).catch((e) => e);
    expect(error).toMatchObject({ status: 502, code: "MANX_UPSTREAM_DOWN" });
    expect(fetch.stats()).toMatchObject({ calls: 1, attempts: 2 });
  });

  it("goes to another target with a key of its own", async () => {
    const spare = await startReplayServer(() => chat("spare"));
    onTestFinished(() => spare.close());
    const { openai } = await live(() => [{ bytes: busy }], {
      targets: [
        { name: "main" },
        {
          name: "spare",
          baseURL: `${spare.url}/v1`,
          headers: () => ({ authorization: "Bearer s" }),
          model: "n",
        },
      ],
    });
    const stream = await openai.chat.completions.create({ model: "m", messages, stream: true });
    expect(await textOf(stream)).toBe("spare");
    expect(spare.hits[0]!.headers.authorization).toBe("Bearer s");
    expect(JSON.parse(spare.hits[0]!.body)).toMatchObject({ model: "n" });
  });

  it("is called off by its turn, and its upstream with it", async () => {
    const turn = new Turn({ tools: [], deadline: "60ms" });
    const { upstream, openai } = await live(() => [{ bytes: EVENT_STREAM_HEAD }], { turn });
    const asked = openai.chat.completions.create({ model: "m", messages, stream: true });
    await expect(asked).rejects.toMatchObject({ status: 504, code: "MANX_DEADLINE" });
    await upstream.hits[0]!.closed;
  });
});

describe("the Anthropic client on modelFetch", () => {
  it("streams, after an error event it never sees", async () => {
    const overloaded = `event: error\ndata: ${JSON.stringify({
      type: "error",
      error: { type: "overloaded_error", message: "busy" },
    })}\n\n`;
    const { upstream, anthropic } = await live((hit) =>
      hit === upstream.hits[0]
        ? [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(overloaded) }, { bytes: LAST_CHUNK }]
        : messagesStream({ texts: ["Hel", "lo"], inputTokens: 9, outputTokens: 2 }),
    );
    const stream = anthropic.messages.stream({ model: "m", max_tokens: 8, messages });
    expect(await stream.finalText()).toBe("Hello");
    expect(upstream.hits).toHaveLength(2);
  });

  it("gets an error, not an end, where a stream is cut after its text", async () => {
    const last: Step = { afterMs: 20, end: "rst" };
    const { upstream, anthropic } = await live(() =>
      messagesStream({ texts: ["Hel"], inputTokens: 9, outputTokens: 2, last }),
    );
    const stream = anthropic.messages.stream({ model: "m", max_tokens: 8, messages });
    await expect(stream.finalText()).rejects.toThrow(/MANX_STREAM_INCOMPLETE/);
    expect(upstream.hits).toHaveLength(1);
  });
});

describe("the AI SDK on modelFetch", () => {
  it("streams, after a refusal it never sees", async () => {
    const { upstream, fetch } = await live((hit) =>
      hit === upstream.hits[0] ? [{ bytes: busy }] : chat("Hel", "lo"),
    );
    const baseURL = `${upstream.url}/v1`;
    const provider = createOpenAICompatible({ name: "p", baseURL, apiKey: "k", fetch });
    const { textStream } = streamText({ model: provider("m"), prompt: "hi", maxRetries: 0 });
    let text = "";
    for await (const part of textStream) text += part;
    expect(text).toBe("Hello");
    expect(upstream.hits).toHaveLength(2);
  });
});
