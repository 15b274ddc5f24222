/**
 * Whether a stream was whole is for its own protocol to say, not for the transport: casebook GW-04 and GW-06 through the
 * gateway, with every way in which the connection may end.
 */
import { describe, expect, it } from "vitest";
import { answer } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import {
  anthropicEvent,
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

/** How a body can end, the first two of them in a way that no HTTP client can object to. */
const TRANSPORTS: [string, (body: string) => Step[]][] = [
  [
    "a last chunk",
    (body) => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(body) }, { bytes: LAST_CHUNK }],
  ],
  [
    "FIN of a body without length",
    (body) => [
      { bytes: head(200, { "content-type": "text/event-stream", connection: "close" }) },
      { bytes: body, end: "fin" },
    ],
  ],
  [
    "FIN within chunks",
    (body) => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(body), end: "fin" }],
  ],
  [
    "RST within chunks",
    (body) => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(body) }, { afterMs: 20, end: "rst" }],
  ],
  [
    "RST of a body without length",
    (body) => [
      { bytes: head(200, { "content-type": "text/event-stream", connection: "close" }) },
      { bytes: body },
      { afterMs: 20, end: "rst" },
    ],
  ],
];

function chatFrame(choice: object): string {
  return `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;
}

const toolCall = {
  index: 0,
  id: "t",
  type: "function",
  function: { name: "f", arguments: '{"pa' },
};
const textBlock =
  anthropicEvent("message_start", {
    message: { id: "m", model: "c", usage: { input_tokens: 1 } },
  }) +
  anthropicEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  anthropicEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hello" } });
const endTurn =
  anthropicEvent("content_block_stop", { index: 0 }) +
  anthropicEvent("message_delta", {
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: 1 },
  });

const INCOMPLETE: [string, string, string][] = [
  ["(1) text", "chat/completions", chatText("Hello")],
  ["(4) reasoning", "chat/completions", chatFrame({ delta: { reasoning_content: "hm" } })],
  ["(5) half a tool call", "chat/completions", chatFrame({ delta: { tool_calls: [toolCall] } })],
  ["(8) an open block", "messages", textBlock],
];
const WHOLE: [string, string, string, string, number][] = [
  ["(2) text and [DONE]", "chat/completions", chatText("Hello") + CHAT_DONE, "ok", 1],
  ["(3) text and a finish reason", "chat/completions", chatText("Hello", "stop"), "ok", 1],
  ["(6) only [DONE]", "chat/completions", CHAT_DONE, "stream_empty", 0],
  ["(7) text and a stop reason", "messages", textBlock + endTurn, "ok", 1],
  ["all of it", "chat/completions", chatText("Hello", "stop") + CHAT_DONE, "ok", 0],
];
const OVERLOADED = { type: "overloaded_error", message: "Overloaded" };
const TOLD: [string, string, string][] = [
  ["Anthropic", "messages", textBlock + anthropicEvent("error", { error: OVERLOADED })],
  [
    "chat",
    "chat/completions",
    `${chatText("Hello")}data: ${JSON.stringify({ error: OVERLOADED })}\n\n`,
  ],
];

describe.each(TRANSPORTS)("ended by %s", (_, script) => {
  it.each(INCOMPLETE)("%s alone is incomplete: one error event follows", async (...row) => {
    const [, path, body] = row;
    const { gateway } = await liveGateway(() => script(body));
    const { status, text, clean } = await answer(`${gateway.url}/v1/${path}`);
    expect([status, clean]).toEqual([200, true]);
    expect(text.startsWith(body)).toBe(true);
    const rest = text.slice(body.length);
    expect(rest).toContain('"code":"MANX_STREAM_INCOMPLETE"');
    expect(rest).not.toMatch(/\[DONE\]|message_stop|"stop"/);
    await until(() => gateway.inFlight() === 0);
    const ended = { route: path, status: 200, outcome: "stream_incomplete" };
    expect(await requests(gateway, ended)).toBe(1);
  });

  it.each(WHOLE)("%s is whole, and passed on as it came", async (...row) => {
    const [, path, body, outcome, missing] = row;
    const { gateway } = await liveGateway(() => script(body));
    const { text, clean } = await answer(`${gateway.url}/v1/${path}`);
    expect([text, clean]).toEqual([body, true]);
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { route: path, status: 200, outcome })).toBe(1);
    const counted = await metric(gateway, `manx_gateway_terminal_missing_total{route="${path}"}`);
    expect(counted).toBe(missing);
  });

  it.each(TOLD)(
    "an error that a %s upstream told itself is not told twice (GW-04)",
    async (...row) => {
      const [, path, body] = row;
      const { gateway } = await liveGateway(() => script(body));
      const { text, clean } = await answer(`${gateway.url}/v1/${path}`);
      expect([text, clean]).toEqual([body, true]);
      await until(() => gateway.inFlight() === 0);
      expect(await requests(gateway, { route: path, status: 200, outcome: "stream_error" })).toBe(
        1,
      );
    },
  );
});

describe("JSON without length", () => {
  it.each([
    ['{"a":[1,2]}', true],
    ['{"a":[1,', false],
  ])("%s ended by the connection: whole is %s", async (body, isWhole) => {
    const opening = head(200, { "content-type": "application/json", connection: "close" });
    const { chatUrl, gateway } = await liveGateway(() => [
      { bytes: opening },
      { bytes: body },
      { afterMs: 20, end: "fin" },
    ]);
    const { status, clean } = await answer(chatUrl);
    expect([status, clean]).toEqual([isWhole ? 200 : 502, true]);
    await until(() => gateway.inFlight() === 0);
    const outcome = isWhole ? "ok" : "stream_incomplete";
    expect(await requests(gateway, { status, outcome })).toBe(1);
  });
});
