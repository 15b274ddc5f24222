/** However an upstream ends early, the client is told, in its own dialect, and never gets a clean success. */
import { describe, expect, it } from "vitest";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import {
  anthropicEvent,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const chatStart = chatText("The ") + chatText("answer");
const anthropicStart =
  anthropicEvent("message_start", {
    message: { id: "m", role: "assistant", content: [], model: "c", usage: { input_tokens: 1 } },
  }) +
  anthropicEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  anthropicEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: "The" } });

function eventsOf(text: string): string[] {
  return text
    .split(/\n{2,}/)
    .map((event) => event.trim())
    .filter((event) => event !== "");
}

const DIALECTS = [
  { name: "chat", path: "chat/completions", start: chatStart, terminal: "[DONE]" },
  { name: "Anthropic", path: "messages", start: anthropicStart, terminal: "message_stop" },
];

/** How the body ends: chunked and cut; chunked and closed as if whole; without length, so that FIN is the end. */
const CUTS: [string, string, (start: string) => Step[]][] = [
  ["FIN", "a chunked body", (start) => [{ bytes: chunk(start) }, { afterMs: 20, end: "fin" }]],
  ["RST", "a chunked body", (start) => [{ bytes: chunk(start) }, { afterMs: 20, end: "rst" }]],
  [
    "FIN",
    "half a line",
    (start) => [{ bytes: chunk(`${start}data: {"cho`) }, { afterMs: 20, end: "fin" }],
  ],
];

describe.each(DIALECTS)("a $name stream", ({ path, start, terminal }) => {
  it.each(CUTS)(
    "cut by %s in %s ends with one error event and no terminal frame",
    async (...row) => {
      const [, , cut] = row;
      const { gateway } = await liveGateway(() => [{ bytes: EVENT_STREAM_HEAD }, ...cut(start)]);
      const { status, text, clean } = await answer(`${gateway.url}/v1/${path}`);
      expect([status, clean]).toEqual([200, true]);
      expect(text.startsWith(start)).toBe(true);
      const events = eventsOf(text.slice(start.length));
      expect(events).toHaveLength(1);
      expect(text).not.toContain(terminal);
      const lines = events[0]!.split("\n");
      if (path === "messages") expect(lines.shift()).toBe("event: error");
      const error = JSON.parse(lines[0]!.slice("data: ".length)) as object;
      expect(error).toMatchObject({ error: { code: "MANX_STREAM_INCOMPLETE" } });
      await until(() => gateway.inFlight() === 0);
      expect(
        await requests(gateway, { route: path, status: 200, outcome: "stream_incomplete" }),
      ).toBe(1);
      expect(gateway.connections().open).toBe(gateway.connections().idle);
    },
  );
});

describe("a body that is no event stream", () => {
  it("cut in the middle is held until then, and told as an error with its status", async () => {
    for (const end of ["fin", "rst"] as const) {
      const opening = head(200, { "content-type": "application/json", "content-length": "100" });
      const { chatUrl, gateway } = await liveGateway(() => [
        { bytes: `${opening}{"a":` },
        { afterMs: 20, end },
      ]);
      const { status, text, clean } = await answer(chatUrl);
      expect([status, clean]).toEqual([502, true]);
      expect(JSON.parse(text)).toMatchObject({ error: { code: "MANX_STREAM_INCOMPLETE" } });
      await until(() => gateway.inFlight() === 0);
      expect(await requests(gateway, { status: 502, outcome: "stream_incomplete" })).toBe(1);
    }
  });

  it("too large to be held and then cut breaks the client's connection, so that it cannot be taken for whole", async () => {
    for (const end of ["fin", "rst"] as const) {
      const opening = head(200, { "content-type": "application/json", "content-length": "500000" });
      const { chatUrl, gateway } = await liveGateway(() => [
        { bytes: `${opening}{"a":"${"x".repeat(300_000)}` },
        { afterMs: 50, end },
      ]);
      const made = call(chatUrl);
      expect((await made.head).statusCode).toBe(200);
      expect((await made.ended).clean).toBe(false);
      await until(() => gateway.inFlight() === 0);
      expect(await requests(gateway, { status: 200, outcome: "stream_incomplete" })).toBe(1);
    }
  });

  it("longer than it said is cut at its length and the connection given up", async () => {
    const opening = head(200, { "content-type": "application/json", "content-length": "2" });
    const { chatUrl, gateway } = await liveGateway(() => [
      { bytes: `${opening}{}HTTP/1.1 200 gar` },
    ]);
    expect(await answer(chatUrl)).toMatchObject({ status: 200, text: "{}", clean: true });
    await until(() => gateway.inFlight() === 0);
  });
});

describe("a stream that no decoder reads", () => {
  it("and that is reset where it has no length is not taken for whole", async () => {
    const opening = head(200, { "content-type": "text/event-stream", connection: "close" });
    const body = 'event: response.created\ndata: {"type":"response.created"}\n\n';
    const { gateway } = await liveGateway(() => [
      { bytes: opening },
      { bytes: body },
      { afterMs: 20, end: "rst" },
    ]);
    const { text } = await answer(`${gateway.url}/v1/embeddings`);
    expect(text.startsWith(body)).toBe(true);
    expect(text).toContain('"code":"MANX_STREAM_INCOMPLETE"');
  });
});

describe("an upstream that fails before its head", () => {
  it.each([
    ["closes", [{ end: "fin" }], "MANX_UPSTREAM_DOWN"],
    ["resets", [{ end: "rst" }], "MANX_UPSTREAM_DOWN"],
    ["speaks no HTTP", [{ bytes: "SSH-2.0-OpenSSH\r\n\r\n" }], "MANX_UPSTREAM_DOWN"],
  ] as [string, Step[], string][])("because it %s gives 502 in the dialect", async (...row) => {
    const [, steps, code] = row;
    const { gateway, chatUrl, messagesUrl } = await liveGateway(() => steps, { preconnect: 0 });
    const chat = await answer(chatUrl);
    expect([chat.status, JSON.parse(chat.text)]).toEqual([
      502,
      { error: expect.objectContaining({ type: "server_error", code }) },
    ]);
    const messages = await answer(messagesUrl);
    expect([messages.status, JSON.parse(messages.text)]).toEqual([
      502,
      { type: "error", error: expect.objectContaining({ type: "api_error", code }) },
    ]);
    expect(await requests(gateway, { status: 502, outcome: "upstream_down" })).toBe(1);
  });

  it("because nothing listens gives 502, a warning at the start, and recovers when it comes up", async () => {
    const { upstream, gateway, chatUrl } = await liveGateway(() => []);
    await upstream.close();
    const second = await liveGateway(() => [], { upstream: upstream.url });
    expect(second.gateway.warning).toMatchObject({
      code: "MANX_UPSTREAM_DOWN",
      got: "ECONNREFUSED",
    });
    expect((await answer(chatUrl)).status).toBe(502);
    expect((await answer(second.chatUrl)).status).toBe(502);
    expect(gateway.inFlight()).toBe(0);
  });
});

describe("an end while the client does not read", () => {
  // undici's own pause() throws out of the socket's event handler here, which ends the process.
  it.each(["fin", "rst"] as const)(
    "by %s of a response with Connection: close is survived",
    async (end) => {
      const opening = head(200, { "content-type": "text/plain", connection: "close" });
      const { chatUrl, gateway, upstream } = await liveGateway(() => [
        { bytes: opening },
        ...Array.from({ length: 64 }, () => ({ bytes: Buffer.alloc(256 * 1024, "x") })),
        { end },
      ]);
      const made = call(chatUrl, { paused: true });
      const response = await made.head;
      await until(() => upstream.hits.length === 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (end === "rst") upstream.cutAll("rst");
      response.resume();
      await made.ended;
      await until(() => gateway.inFlight() === 0);
      if (end === "fin") expect(Buffer.byteLength(made.text())).toBe(64 * 256 * 1024);
      expect((await answer(`${gateway.url}/health`, { method: "GET" })).status).toBe(200);
    },
  );

  it("before the last bytes are taken loses none of them", async () => {
    const body = "y".repeat(3 * 1024 * 1024);
    const { chatUrl } = await liveGateway(() => [
      { bytes: head(200, { "content-type": "text/plain", "transfer-encoding": "chunked" }) },
      { bytes: chunk(body) },
      { bytes: LAST_CHUNK },
    ]);
    const made = call(chatUrl, { paused: true });
    const response = await made.head;
    await new Promise((resolve) => setTimeout(resolve, 100));
    response.resume();
    expect([(await made.ended).clean, made.text() === body]).toEqual([true, true]);
  });
});
