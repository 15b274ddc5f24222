/** The client's door: what is refused and how, and how it closes. */
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  json,
  LAST_CHUNK,
  sleep,
} from "../support/replay-server.ts";

const ok = [{ bytes: json(200, { ok: true }) }];

interface Raw {
  readonly socket: Socket;
  text(): string;
}

function raw(url: string, bytes: string): Raw {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let text = "";
  socket.on("error", () => undefined);
  socket.on("data", (part: Buffer) => {
    text += part.toString("latin1");
  });
  socket.write(bytes);
  return { socket, text: () => text };
}

describe("routes", () => {
  it("forwards the APIs' own paths, with their query and prefix, and nothing else", async () => {
    const { gateway, upstream } = await liveGateway(() => ok);
    const forwarded: [string, string][] = [
      ["POST", "/v1/chat/completions"],
      ["POST", "/v1/messages?beta=true"],
      ["POST", "/v1/messages/count_tokens"],
      ["POST", "/v1/completions"],
      ["POST", "/v1/responses"],
      ["POST", "/v1/embeddings"],
      ["GET", "/v1/models"],
      ["GET", "/v1/models/meta-llama/Llama-3.1-8B"],
    ];
    for (const [method, path] of forwarded) {
      expect((await answer(gateway.url + path, { method })).status, path).toBe(200);
    }
    expect(upstream.hits.map(({ method, path }) => [method, path])).toEqual(forwarded);
    const refused: [string, string][] = [
      ["GET", "/v1/chat/completions"],
      ["POST", "/v1/files"],
      ["POST", "/v1/chat/completions/../../admin"],
      ["POST", "/v1//chat/completions"],
      ["POST", "/V1/chat/completions"],
      ["GET", "/v1/models/%2e%2e/admin"],
      ["GET", "/v1/models/.."],
      ["DELETE", "/v1/models/x"],
      ["GET", "/"],
    ];
    for (const [method, path] of refused) {
      const port = Number(new URL(gateway.url).port);
      const { socket, text } = raw(
        `http://127.0.0.1:${port}`,
        `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      await new Promise((resolve) => socket.once("close", resolve));
      expect(text(), path).toContain("HTTP/1.1 404");
      expect(text()).toContain("MANX_ROUTE_UNKNOWN");
    }
    // A proxy's form of request line, which would name another server.
    const absolute = raw(
      gateway.url,
      "GET http://example.com/v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    await new Promise((resolve) => absolute.socket.once("close", resolve));
    expect(absolute.text()).toContain("HTTP/1.1 404");
    expect(upstream.hits).toHaveLength(forwarded.length);
  });

  it("takes an upstream with a path and with /v1", async () => {
    const { upstream } = await liveGateway(() => ok);
    for (const path of ["/v1", "/v1/", "/proxy/openai/v1", "/proxy/openai/"]) {
      const { chatUrl } = await liveGateway(() => ok, { upstream: upstream.url + path });
      await answer(chatUrl);
    }
    expect(upstream.hits.map(({ path }) => path)).toEqual([
      "/v1/chat/completions",
      "/v1/chat/completions",
      "/proxy/openai/v1/chat/completions",
      "/proxy/openai/v1/chat/completions",
    ]);
  });

  it("answers in the caller's dialect where no route matches", async () => {
    const { gateway } = await liveGateway(() => ok);
    const anthropic = await answer(`${gateway.url}/v1/complete`, {
      headers: { "anthropic-version": "2023-06-01" },
    });
    expect([anthropic.status, JSON.parse(anthropic.text)]).toEqual([
      404,
      { type: "error", error: expect.objectContaining({ type: "not_found_error" }) },
    ]);
  });

  it("refuses a request that comes back to it", async () => {
    const { upstream, gateway } = await liveGateway(() => ok);
    await answer(`${gateway.url}/v1/embeddings`);
    const { via = "" } = upstream.hits[0]!.headers;
    const again = await answer(`${gateway.url}/v1/embeddings`, { headers: { via } });
    expect(again.status).toBe(400);
    expect(again.text).toContain("leads back to this gateway");
    expect(upstream.hits).toHaveLength(1);
  });
});

describe("bodies and heads", () => {
  it("over the limit are refused with 413, declared or not, in both dialects", async () => {
    const { gateway, upstream } = await liveGateway(() => ok, { limits: { bodyBytes: 1_000 } });
    const body = "x".repeat(2_000);
    const declared = { headers: { "content-length": "2000" }, body };
    const undeclared = { headers: { "transfer-encoding": "chunked" }, body };
    for (const options of [declared, undeclared]) {
      const chat = await answer(`${gateway.url}/v1/chat/completions`, options);
      expect([chat.status, JSON.parse(chat.text).error.code]).toEqual([413, "MANX_BODY_TOO_LARGE"]);
      const messages = await answer(`${gateway.url}/v1/messages`, options);
      expect(JSON.parse(messages.text).error.type).toBe("request_too_large");
    }
    expect(upstream.hits).toHaveLength(0);
    await until(() => gateway.inFlight() === 0);
  });

  it("are bounded all together, and counted back", async () => {
    const { chatUrl, gateway } = await liveGateway(() => [{ afterMs: 100, ...ok[0] }], {
      limits: { bodiesBytes: 1_000 },
    });
    const body = JSON.stringify({ input: "x".repeat(585) });
    const first = answer(chatUrl, { body });
    await until(() => gateway.inFlight() === 1);
    expect((await answer(chatUrl, { body })).status).toBe(429);
    expect((await first).status).toBe(200);
    expect((await answer(chatUrl, { body })).status).toBe(200);
  });

  it("that come too slowly or not at all are cut off", async () => {
    const { gateway, upstream } = await liveGateway(() => ok, {
      limits: { receiveHeadUs: 300_000, receiveUs: 600_000 },
    });
    const slowHead = raw(gateway.url, "POST /v1/embeddings HTTP/1.1\r\nhost: x\r\n");
    const slowBody = raw(
      gateway.url,
      "POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n{",
    );
    await Promise.all(
      [slowHead, slowBody].map(
        ({ socket }) => new Promise((resolve) => socket.once("close", resolve)),
      ),
    );
    expect(slowHead.text()).toContain("408");
    await until(() => gateway.inFlight() === 0);
    expect(upstream.hits).toHaveLength(0);
  });

  it("that break off are the client's leaving, and nobody's error", async () => {
    const { gateway, upstream } = await liveGateway(() => ok);
    const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{";
    const { socket } = raw(gateway.url, head);
    await until(() => gateway.inFlight() === 1);
    socket.resetAndDestroy();
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 0, outcome: "client_cancelled" })).toBe(1);
    expect(upstream.hits).toHaveLength(0);
  });

  it("that smuggle a second request are refused", async () => {
    const { gateway, upstream } = await liveGateway(() => ok);
    for (const head of [
      "content-length: 3\r\ntransfer-encoding: chunked\r\n",
      "content-length: 3\r\ncontent-length: 4\r\n",
      "transfer-encoding: chunked, identity\r\n",
    ]) {
      const { socket, text } = raw(
        gateway.url,
        `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\n${head}\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\n\r\n`,
      );
      await new Promise((resolve) => socket.once("close", resolve));
      expect(text(), head).toContain("HTTP/1.1 400");
    }
    expect(upstream.hits).toHaveLength(0);
  });

  it("with credentials go through, and nowhere else", async () => {
    const { gateway, chatUrl, upstream } = await liveGateway(() => [{ end: "rst" }]);
    const headers = { authorization: "Bearer sk-very-secret", "x-api-key": "sk-very-secret" };
    const { text } = await answer(`${chatUrl}?key=sk-very-secret`, { headers });
    await answer(`${gateway.url}/v1/nowhere?key=sk-very-secret`, { headers });
    expect(upstream.hits[0]!.headers).toMatchObject(headers);
    const shown = text + (await gateway.metricsText());
    expect(shown).not.toContain("sk-very-secret");
  });
});

describe("pipelined requests", () => {
  it("are answered in order, and all given up when the client leaves", async () => {
    const { gateway, upstream } = await liveGateway((hit) =>
      hit.path.includes("slow") ? [] : [{ afterMs: 30, bytes: json(200, hit.path) }],
    );
    const post = (query: string) =>
      `POST /v1/embeddings?${query} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`;
    const inOrder = raw(gateway.url, post("a") + post("b"));
    await until(() => inOrder.text().includes("embeddings?b"));
    expect(inOrder.text().indexOf("embeddings?a")).toBeLessThan(
      inOrder.text().indexOf("embeddings?b"),
    );
    const leaving = raw(gateway.url, post("slow1") + post("slow2"));
    await until(() => upstream.hits.length === 4);
    leaving.socket.resetAndDestroy();
    await until(() => gateway.inFlight() === 0);
    inOrder.socket.destroy();
  });
});

describe("closing", () => {
  const stream = (events: number, gapMs: number) => [
    { bytes: EVENT_STREAM_HEAD },
    ...Array.from({ length: events }, () => ({ afterMs: gapMs, bytes: chunk(chatText("x")) })),
    { bytes: chunk(chatText("", "stop") + CHAT_DONE) },
    { bytes: LAST_CHUNK },
  ];

  it("takes no new work, lets an open stream end, and then is closed", async () => {
    const { gateway, chatUrl } = await liveGateway(() => stream(10, 20), {
      limits: { drainUs: 5_000_000 },
    });
    const made = call(chatUrl);
    await made.head;
    const closed = gateway.close();
    await expect(answer(chatUrl)).rejects.toThrow(/ECONNREFUSED/);
    expect((await made.ended).clean).toBe(true);
    expect(made.text().endsWith(CHAT_DONE)).toBe(true);
    await closed;
    expect(gateway.connections().open).toBe(0);
  });

  it("cuts what goes on beyond the bound, with an error that the client can read", async () => {
    const { gateway, chatUrl, upstream } = await liveGateway(() => stream(1_000, 20), {
      limits: { drainUs: 150_000 },
    });
    const made = call(chatUrl);
    await made.head;
    await sleep(50);
    await gateway.close();
    await made.ended;
    expect(made.text()).toContain('"code":"MANX_DRAINING"');
    expect(made.text()).not.toContain("[DONE]");
    await upstream.hits[0]!.closed;
  });
});

describe("own pages", () => {
  it("answer without the upstream", async () => {
    const { gateway, upstream } = await liveGateway(() => ok);
    for (const path of ["/health", "/ready", "/metrics"]) {
      expect((await answer(gateway.url + path, { method: "GET" })).status).toBe(200);
    }
    const { text } = await answer(`${gateway.url}/metrics`, { method: "GET" });
    expect(text).toContain("# TYPE manx_gateway_ttft_seconds histogram");
    expect(text).toContain("# TYPE manx_gateway_itl_seconds histogram");
    expect(await metric(gateway, "manx_gateway_in_flight")).toBe(0);
    expect(upstream.hits).toHaveLength(0);
  });
});
