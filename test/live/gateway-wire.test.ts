/** The casebook's framing cases, through the running gateway and read by an official client. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { answer } from "../support/http-call.ts";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import { chunk, EVENT_STREAM_HEAD, head, LAST_CHUNK } from "../support/replay-server.ts";

const messages = [{ role: "user" as const, content: "hi" }];

async function read(url: string) {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-x", maxRetries: 0 });
  const stream = await openai.chat.completions.create({ model: "m", messages, stream: true });
  const parts: OpenAI.ChatCompletionChunk[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe("casebook GW-01 through the gateway", () => {
  it("gives the same bytes and one event, whichever line ends, one byte per write", async () => {
    const event = '{"choices":[{"index":0,"delta":{"content":\ndata: "naïve 日本🙂"}}]}';
    const whole = `data: ${event}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
    for (const lineEnd of ["\r\n", "\n", "\r"]) {
      const wire = whole.replaceAll("\n", lineEnd);
      // Without length and chunks, so that each byte really is a write of its own.
      const opening = head(200, { "content-type": "text/event-stream", connection: "close" });
      const { chatUrl, gateway } = await liveGateway(() => [
        { bytes: opening },
        { bytes: wire, byteByByte: true, end: "fin" },
      ]);
      const { text, clean } = await answer(chatUrl);
      expect([text, clean]).toEqual([wire, true]);
      await until(() => gateway.inFlight() === 0);
      expect(await requests(gateway, { status: 200, outcome: "ok" })).toBe(1);
    }
  });
});

describe("casebook GW-02 through the gateway", () => {
  it("leaves comments, odd fields and a sloppy end to the client as they are", async () => {
    const wire = [
      ': keep-alive\n\n:\n\ndata:{"choices":[{"index":0,"delta":{"content":"A"}}]}\n\n',
      'event: message\nid: 7\nretry: 3000\nfoo: bar\ndata: {"choices":[{"index":0,"delta":{"content":"B"},"finish_reason":"stop"}]}\n\n',
      "data:\n\ndata: [DONE] \n\n",
    ];
    const { chatUrl, gateway } = await liveGateway(() => [
      { bytes: EVENT_STREAM_HEAD },
      ...wire.map((part) => ({ bytes: chunk(part), afterMs: 2 })),
      { bytes: LAST_CHUNK },
    ]);
    expect((await answer(chatUrl)).text).toBe(wire.join(""));
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 200, outcome: "ok" })).toBe(1);
  });
});

describe("casebook GW-03 through the gateway", () => {
  it("passes chunks without a usable choice on, and is not disturbed by them", async () => {
    const chunks = [
      '{"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}',
      '{"id":"x","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}',
      '{"id":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"start_offset":0,"end_offset":2}}]}',
      '{"id":"x","choices":null}',
      '{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
      '{"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}',
      "[DONE]",
    ];
    const { gateway } = await liveGateway(() => [
      { bytes: EVENT_STREAM_HEAD },
      ...chunks.map((data) => ({ bytes: chunk(`data: ${data}\n\n`) })),
      { bytes: LAST_CHUNK },
    ]);
    const parts = await read(gateway.url);
    expect(parts.map((part) => part.choices?.[0]?.delta?.content ?? "").join("")).toBe("Hi");
    expect(parts.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 1 });
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 200, outcome: "ok" })).toBe(1);
  });
});
