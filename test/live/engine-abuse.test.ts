/** The live twin under clients that do wrong, overload it, leave, or stop reading: it answers, frees, and goes on. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { EngineServer } from "../../src/engine-server/index.ts";
import {
  hello,
  metric,
  post,
  type Refusal,
  startTwin,
  stopTwins,
  until,
} from "../support/live-twin.ts";

afterEach(stopTwins);

describe("what a client can do wrong", () => {
  it("answers each bad body with 400, the field and a stable code, and goes on", async () => {
    const server = await startTwin();
    const bodies: [unknown, string | null][] = [
      ["", "request body"],
      ["{", "request body"],
      ["[]", "request body"],
      ["null", "request body"],
      [{}, "messages"],
      [{ messages: hello, max_tokens: 0 }, "max_tokens"],
      [{ messages: hello, max_tokens: "5" }, "max_tokens"],
      [{ messages: hello, n: 3 }, "n"],
      [{ messages: hello, stream: 1 }, "stream"],
      [{ messages: [{ role: "user", content: "x ".repeat(17_000) }] }, null],
    ];
    for (const [body, param] of bodies) {
      const response = await post(server, body);
      const { error } = (await response.json()) as Refusal;
      expect([response.status, error.param]).toEqual([400, param]);
      expect(error.manx_code).toMatch(/^MANX_REQUEST_(INVALID|NEVER_FITS)$/);
    }
    expect((await post(server, { messages: hello, max_tokens: 1 })).status).toBe(200);
    const refused = await metric(server, 'manx_engine_refused_total{code="MANX_REQUEST_INVALID"');
    expect(refused).toBe(bodies.length - 1);
  });

  it("refuses what the KV memory can never hold, streaming or not, at once", async () => {
    const server = await startTwin({ memoryShare: 0.236, contextMax: 131_072 });
    const { totalTokens } = server.engine.scheduler.kv;
    expect(totalTokens).toBeLessThan(60_000);
    for (const stream of [true, false]) {
      const response = await post(server, { messages: hello, max_tokens: 100_000, stream });
      const { error } = (await response.json()) as Refusal;
      expect([response.status, error.manx_code]).toEqual([400, "MANX_REQUEST_NEVER_FITS"]);
      expect(error.message).toContain(`${totalTokens} tokens`);
    }
    // A trace's length is promised, so it is refused as well, and not cut.
    const forced = await post(server, { messages: hello, manx: { output_tokens: 100_000 } });
    expect(forced.status).toBe(400);
    await forced.text();
  });

  it("refuses a body over the limit, declared or not", async () => {
    const server = await startTwin({}, { bodyBytesMax: 1_000 });
    const declared = await post(server, "x".repeat(2_000));
    expect(declared.status).toBe(413);
    expect(((await declared.json()) as Refusal).error.manx_code).toBe("MANX_BODY_TOO_LARGE");
    const status = await new Promise((resolve, reject) => {
      const chunked = httpRequest(`${server.url}/v1/chat/completions`, { method: "POST" });
      chunked.on("response", (response) => resolve(response.resume().statusCode));
      chunked.on("error", reject);
      for (let i = 0; i < 20; i += 1) chunked.write("x".repeat(100));
      chunked.end();
    });
    expect(status).toBe(413);
    expect((await post(server, { messages: hello, max_tokens: 1 })).status).toBe(200);
  });

  it("names its routes to those who miss them, and survives bytes that are no HTTP", async () => {
    const server = await startTwin();
    for (const [method, path] of [
      ["GET", "/v1/chat/completions"],
      ["POST", "/v1/embeddings"],
      ["GET", "/metrics/x"],
    ] as const) {
      const response = await fetch(server.url + path, { method });
      expect(response.status).toBe(404);
      expect(((await response.json()) as Refusal).error.message).toContain(
        "POST /v1/chat/completions",
      );
    }
    const { port } = new URL(server.url);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () =>
        socket.write("\x16\x03\x01 no\r\n\r\n"),
      );
      socket.on("error", () => undefined).on("close", () => resolve());
      socket.resume();
    });
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: "ok" }]);
    expect(await (await fetch(server.url)).text()).toContain("manx engine");
  });

  it("answers 429 with Retry-After when its queue is full, and serves again afterwards", async () => {
    const server = await startTwin({ sequencesMax: 1 }, { waitingMax: 2 });
    const busy = { messages: hello, manx: { output_tokens: 100 } };
    const taken = [post(server, busy), post(server, busy), post(server, busy)];
    await until(() => server.engine.scheduler.waiting === 2, "a full queue");
    const response = await post(server, busy);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(((await response.json()) as Refusal).error.code).toBe("rate_limit_exceeded");
    for (const answer of await Promise.all(taken)) expect(answer.status).toBe(200);
    expect((await post(server, { messages: hello, max_tokens: 1 })).status).toBe(200);
  });
});

describe("a client that leaves", () => {
  /** Sends a request that would take a minute, and hangs up when `when` says so. */
  async function hangUp(server: EngineServer, stream: boolean, when: "queued" | "streaming") {
    const body = JSON.stringify({ messages: hello, stream, manx: { output_tokens: 16_000 } });
    const request = httpRequest(`${server.url}/v1/chat/completions`, { method: "POST" });
    request.on("error", () => undefined);
    const answered = new Promise<IncomingMessage>((resolve) => request.on("response", resolve));
    request.end(body);
    if (when === "streaming") {
      const response = await answered;
      await new Promise((resolve) => response.once("data", resolve));
    } else {
      await until(() => server.engine.scheduler.waiting > 0, "a queued request");
    }
    request.destroy();
  }

  it("has its memory freed at once: mid-stream, not streaming, and from the queue", async () => {
    const server = await startTwin({ sequencesMax: 1 });
    const { scheduler } = server.engine;
    await hangUp(server, true, "streaming");
    await until(() => scheduler.running === 0, "no running request");
    expect(scheduler.kv.reservedTokens).toBe(0);

    const staying = post(server, { messages: hello, manx: { output_tokens: 200 } });
    await until(() => scheduler.running === 1, "a running request");
    await hangUp(server, false, "queued");
    await until(() => scheduler.waiting === 0, "an empty queue");
    expect((await staying).status).toBe(200);
    await until(() => scheduler.running === 0, "no running request");
    expect(scheduler.kv.reservedTokens).toBe(0);
    expect(await metric(server, "vllm:num_requests_running")).toBe(0);
    expect(await metric(server, "vllm:kv_cache_usage_perc")).toBe(0);
    expect(await metric(server, 'vllm:request_success_total{finished_reason="abort"')).toBe(2);
    expect(await metric(server, "vllm:e2e_request_latency_seconds_count")).toBe(1);
  });

  it("holds nobody else up when it only stops reading", async () => {
    const server = await startTwin(
      { contextMax: 100_000 },
      { cost: { name: "x", stepUs: () => 50 } },
    );
    const body = JSON.stringify({
      messages: hello,
      stream: true,
      manx: { output_tokens: 90_000 },
    });
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => undefined).pause();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => server.engine.scheduler.running === 1, "the stream");
    expect((await post(server, { messages: hello, max_tokens: 3 })).status).toBe(200);
    socket.destroy();
    await until(() => server.engine.scheduler.running === 0, "the end of the stream");
  });
});
