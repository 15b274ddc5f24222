/** The official clients, unchanged but for their base URL. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import {
  anthropicEvent,
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const completion = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content: "Hello you" }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

const message = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "c",
  content: [{ type: "text", text: "Hello you" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
};

function delta(text: string): string {
  return anthropicEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
}

const anthropicStart =
  anthropicEvent("message_start", { message: { ...message, content: [], stop_reason: null } }) +
  anthropicEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  anthropicEvent("ping", {});
const anthropicStop =
  anthropicEvent("content_block_stop", { index: 0 }) +
  anthropicEvent("message_delta", {
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: 2 },
  }) +
  anthropicEvent("message_stop", {});

function streamOf(...parts: string[]): Step[] {
  const chunks = parts.map((part) => ({ afterMs: 5, bytes: chunk(part) }));
  return [{ bytes: EVENT_STREAM_HEAD }, ...chunks];
}

/** Answers whole, as a stream, or as a stream that is cut, by the model that is asked for. */
function script(hit: Hit): Step[] {
  if (hit.path === "/v1/models") {
    return [{ bytes: json(200, { object: "list", data: [{ id: "m", object: "model" }] }) }];
  }
  const asked = JSON.parse(hit.body) as { model: string; stream?: boolean };
  const isChat = hit.path === "/v1/chat/completions";
  if (asked.model === "silent") return [];
  if (asked.model === "busy") {
    const error = { message: "slow down", type: "rate_limit_error", code: "busy" };
    return [{ bytes: json(429, isChat ? { error } : { type: "error", error }) }];
  }
  if (asked.stream !== true) return [{ bytes: json(200, isChat ? completion : message) }];
  const cut: Step[] = [{ afterMs: 5, end: "rst" }];
  const end: Step[] = [{ bytes: LAST_CHUNK }];
  const parts = isChat
    ? [chatText("Hello "), chatText("you"), chatText("", "stop") + CHAT_DONE]
    : [anthropicStart + delta("Hello "), delta("you"), anthropicStop];
  return asked.model === "cut"
    ? [...streamOf(...parts.slice(0, 2)), ...cut]
    : [...streamOf(...parts), ...end];
}

const messages = [{ role: "user" as const, content: "hi" }];

describe("the openai client", () => {
  async function client() {
    const live = await liveGateway(script);
    const openai = new OpenAI({ baseURL: `${live.gateway.url}/v1`, apiKey: "sk-x", maxRetries: 0 });
    return { ...live, openai };
  }

  it("lists models, completes and streams, and its key goes through", async () => {
    const { openai, upstream } = await client();
    expect((await openai.models.list()).data[0]?.id).toBe("m");
    const whole = await openai.chat.completions.create({ model: "m", messages });
    expect(whole.choices[0]?.message.content).toBe("Hello you");
    let text = "";
    for await (const part of await openai.chat.completions.create({
      model: "m",
      messages,
      stream: true,
    })) {
      text += part.choices[0]?.delta.content ?? "";
    }
    expect(text).toBe("Hello you");
    expect(upstream.hits[2]!.headers.authorization).toBe("Bearer sk-x");
  });

  it("throws its own typed errors: on a status, and on a stream that is cut", async () => {
    const { openai, gateway } = await client();
    await expect(openai.chat.completions.create({ model: "busy", messages })).rejects.toThrow(
      OpenAI.RateLimitError,
    );
    const stream = await openai.chat.completions.create({ model: "cut", messages, stream: true });
    let text = "";
    const read = async (): Promise<void> => {
      for await (const part of stream) text += part.choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toMatchObject({ code: "MANX_STREAM_INCOMPLETE" });
    expect(text).toBe("Hello you");
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 429, outcome: "upstream_status" })).toBe(1);
  });

  it("aborts, and the upstream learns it", async () => {
    const { openai, upstream, gateway } = await client();
    const controller = new AbortController();
    const asked = openai.chat.completions.create(
      { model: "silent", messages },
      { signal: controller.signal },
    );
    const hit = await upstream.hit(1);
    controller.abort();
    await expect(asked).rejects.toThrow(OpenAI.APIUserAbortError);
    await hit.closed;
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 0, outcome: "client_cancelled" })).toBe(1);
  });
});

describe("the Anthropic client", () => {
  async function client() {
    const live = await liveGateway(script);
    const anthropic = new Anthropic({ baseURL: live.gateway.url, apiKey: "sk-x", maxRetries: 0 });
    return { ...live, anthropic };
  }
  const ask = { max_tokens: 10, messages };

  it("creates and streams messages, and its headers go through", async () => {
    const { anthropic, upstream } = await client();
    const whole = await anthropic.messages.create({ model: "m", ...ask });
    expect(whole.content).toMatchObject([{ type: "text", text: "Hello you" }]);
    const final = await anthropic.messages.stream({ model: "m", ...ask }).finalMessage();
    expect(final.content).toMatchObject([{ type: "text", text: "Hello you" }]);
    expect(final.stop_reason).toBe("end_turn");
    expect(upstream.hits[1]!.headers).toMatchObject({
      authorization: "Bearer sk-x",
      "anthropic-version": expect.stringMatching(/^\d{4}-/),
    });
  });

  it("throws its own typed errors: on a status, and on a stream that is cut", async () => {
    const { anthropic, gateway } = await client();
    await expect(anthropic.messages.create({ model: "busy", ...ask })).rejects.toThrow(
      Anthropic.RateLimitError,
    );
    const stream = anthropic.messages.stream({ model: "cut", ...ask });
    await expect(stream.finalMessage()).rejects.toThrow(/MANX_STREAM_INCOMPLETE/);
    await until(() => gateway.inFlight() === 0);
    const ended = { route: "messages", status: 200, outcome: "stream_incomplete" };
    expect(await requests(gateway, ended)).toBe(1);
  });
});
