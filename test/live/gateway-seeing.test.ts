/** What a caller, an operator and a collector see of the same request. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { readTraceparent } from "../../src/gateway/seeing/trace-context.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, metric, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

const USAGE =
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],' +
  '"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}}\n\n';

function good(): Step[] {
  const parts = [chatText("a"), chatText("b", "stop"), USAGE + CHAT_DONE];
  return [
    { bytes: EVENT_STREAM_HEAD },
    ...parts.map((text) => ({ afterMs: 5, bytes: chunk(text) })),
    { bytes: LAST_CHUNK },
  ];
}

const overloaded: Step[] = [{ bytes: json(503, { error: { message: "busy", type: "x" } }) }];
const ASK = JSON.stringify({ model: "m", stream: true, messages: [] });
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLERS = `00-${TRACE}-b7ad6b7169203331-01`;

async function upstream(script: (hit: Hit) => readonly Step[]) {
  const server = await startReplayServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** Two targets, of which the first is busy. */
async function failingOver(more: object) {
  const [bad, fine] = [await upstream(() => overloaded), await upstream(good)];
  const { gateway, reload } = await configuredGateway({
    upstreams: [
      { name: "bad", url: bad.url },
      { name: "fine", url: fine.url },
    ],
    models: [{ name: "m", targets: ["bad", { upstream: "fine", order: 1 }] }],
    ...more,
  });
  return { bad, fine, gateway, reload, url: `${gateway.url}/v1/chat/completions` };
}

describe("a request's id", () => {
  it("is made if the caller has none, and sent back with every answer", async () => {
    const { chatUrl, gateway } = await liveGateway(good);
    const one = await answer(chatUrl);
    expect(one.headers["x-request-id"]).toMatch(/^req_[0-9a-f]{24}$/);
    const two = await answer(chatUrl, { headers: { "x-request-id": "mine" } });
    expect(two.headers["x-request-id"]).toBe("mine");
    const lost = await answer(`${gateway.url}/v1/nothing`, { headers: { "x-request-id": "lost" } });
    expect([lost.status, lost.headers["x-request-id"]]).toEqual([404, "lost"]);
  });

  it("stands beside the upstream's own", async () => {
    const withId = [{ bytes: json(200, { ok: true }, { "x-request-id": "req_theirs" }) }];
    const { chatUrl } = await liveGateway(() => withId);
    const { headers } = await answer(chatUrl, { headers: { "x-request-id": "mine" } });
    expect(headers["x-request-id"]).toBe("mine");
    expect(headers["x-manx-upstream-request-id"]).toBe("req_theirs");
  });
});

describe("the access log", () => {
  it("has one line a request, with every attempt, and no word of what was said", async () => {
    const folder = mkdtempSync(join(tmpdir(), "manx-access-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "access.jsonl");
    const { gateway, url } = await failingOver({ log: { access: path } });
    const headers = { "x-request-id": "one", authorization: "Bearer sk-very-secret" };
    const body = JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "a-private-word" }],
    });
    await answer(url, { headers, body });
    await answer(`${gateway.url}/v1/nothing?key=sk-very-secret`);
    await until(async () => (await metric(gateway, "manx_gateway_access_log_lines_total")) === 2);
    const text = readFileSync(path, "utf8");
    expect(text).not.toMatch(/secret|private/);
    const [line, refused] = text
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one));
    expect(line).toMatchObject({
      request_id: "one",
      route: "chat/completions",
      model: "m",
      upstream: "fine",
      outcome: "ok",
      status: 200,
      usage_complete: true,
      input_tokens: 11,
      output_tokens: 2,
      attempts: [
        { upstream: "bad", cause: "first", end: "status", status: 503 },
        { upstream: "fine", cause: "failover", end: "delivered", status: 200 },
      ],
    });
    expect(line.ttft_ms).toBeGreaterThan(0);
    expect(line.e2e_ms).toBeGreaterThanOrEqual(line.ttft_ms);
    expect(refused).toMatchObject({ outcome: "refused", error: "MANX_ROUTE_UNKNOWN", status: 404 });
    expect(text).not.toContain('"client"');
  });

  it("has the address that a request came from only where that is wanted", async () => {
    const folder = mkdtempSync(join(tmpdir(), "manx-access-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "access.jsonl");
    const { gateway, url } = await failingOver({ log: { access: path, client: true } });
    await answer(url, { body: ASK, headers: { "x-forwarded-for": "192.0.2.9" } });
    await answer(`${gateway.url}/v1/nothing`);
    await until(async () => (await metric(gateway, "manx_gateway_access_log_lines_total")) === 2);
    const lines = readFileSync(path, "utf8").trim().split("\n");
    const clients = lines.map((line) => (JSON.parse(line) as { client: string }).client);
    expect(clients).toEqual(["127.0.0.1", "127.0.0.1"]);
  });

  it("that cannot be written costs lines and no request", async () => {
    const { gateway, url } = await failingOver({ log: { access: "/dev/full" } });
    expect((await answer(url, { body: ASK })).status).toBe(200);
    const dropped = 'manx_gateway_access_log_lines_total{result="dropped"}';
    await until(async () => (await metric(gateway, dropped)) === 1);
    expect((await answer(url, { body: ASK })).status).toBe(200);
  });
});

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

async function collector() {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const sent = JSON.parse(gunzipSync(Buffer.concat(parts)).toString());
      spans.push(...sent.resourceSpans[0].scopeSpans[0].spans);
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("traces", () => {
  it("go on from the caller's through each attempt to the upstream", async () => {
    const { spans, url: collectorUrl } = await collector();
    const { url, bad, fine } = await failingOver({ otlp: { url: collectorUrl, share: 0 } });
    await answer(url, { body: ASK, headers: { traceparent: CALLERS } });
    await until(() => spans.length > 0);
    const root = spans.find(({ parentSpanId }) => parentSpanId === "b7ad6b7169203331");
    expect(root?.name).toBe("chat m");
    const attempts = spans.filter(({ name }) => name === "POST");
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([root!.spanId, root!.spanId]);
    const sent = [bad, fine].map(({ hits }) => readTraceparent(hits[0]!.headers.traceparent));
    expect(sent.map((one) => one?.parentId)).toEqual(attempts.map(({ spanId }) => spanId));
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  });

  it("pass through where none are recorded, and a collector that is gone slows nobody", async () => {
    const plain = await failingOver({});
    await answer(plain.url, { body: ASK, headers: { traceparent: CALLERS } });
    expect(plain.fine.hits[0]!.headers.traceparent).toBe(CALLERS);
    const gone = await failingOver({ otlp: { url: "http://127.0.0.1:9" } });
    expect((await answer(gone.url, { body: ASK })).status).toBe(200);
  });
});

describe("Server-Timing", () => {
  it("parts the time until the head", async () => {
    const { url } = await failingOver({});
    const first = call(url, { body: ASK });
    const { headers } = await first.head;
    await first.ended;
    const parts = String(headers["server-timing"]);
    expect(parts).toMatch(
      /^manx;dur=[\d.]+, retry;dur=[\d.]+, (connect;dur=[\d.]+, )?upstream;dur=[\d.]+$/,
    );
    expect(headers["x-manx-attempts"]).toBe("2");
  });
});

describe("/metrics", () => {
  it("parts calls by model and upstream, and attempts by cause and end", async () => {
    const { gateway, url } = await failingOver({ admission: {} });
    await answer(url, { body: ASK });
    await until(() => gateway.inFlight() === 0);
    const of = (series: string): Promise<number> => metric(gateway, `manx_gateway_${series}`);
    const labels = '{model="m",upstream="fine"}';
    expect(await of(`ttft_seconds_count${labels}`)).toBe(1);
    expect(await of(`itl_seconds_count${labels}`)).toBe(1);
    expect(await of(`e2e_seconds_count${labels}`)).toBe(1);
    expect(await of('attempts_total{upstream="bad",cause="first",end="status"}')).toBe(1);
    expect(await of('attempts_total{upstream="fine",cause="failover",end="delivered"}')).toBe(1);
    expect(await of('tokens_total{model="m",upstream="fine",kind="input"}')).toBe(11);
    expect(await of("queue_wait_seconds_count")).toBe(1);
    expect(await of("model_in_flight")).toBe(0);
    expect(await of('breaker_state{model="m",target="bad"}')).toBe(0);
    expect(await of('upstream_connections_open{upstream="fine"}')).toBeGreaterThan(0);
    expect(await of('tenant_requests_total{tenant="anonymous"}')).toBe(1);
  });

  it("has exemplars that lead to the request, for a scraper that can read them", async () => {
    const { gateway, url } = await failingOver({});
    await answer(url, { body: ASK, headers: { traceparent: CALLERS } });
    await until(() => gateway.inFlight() === 0);
    const accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    const open = await (await fetch(`${gateway.url}/metrics`, { headers: { accept } })).text();
    expect(open).toMatch(
      new RegExp(`ttft_seconds_bucket\\{.*\\} 1 # \\{trace_id="${TRACE}"\\} 0\\.\\d+ \\d+`),
    );
    expect(open).toMatch(/# EOF\n$/);
    expect(open).toContain("# TYPE manx_gateway_requests counter");
    // Asking for one format does not change the other.
    const plain = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(plain).toContain("# TYPE manx_gateway_requests_total counter");
    expect(plain).not.toContain("trace_id");
  });

  it("counts what is refused, by why, and reloads by how they went", async () => {
    const { gateway, reload, fine } = await failingOver({});
    await answer(`${gateway.url}/v1/chat/completions`, { body: "{" });
    await answer(`${gateway.url}/v1/nothing`);
    await until(() => gateway.inFlight() === 0);
    const of = (series: string): Promise<number> => metric(gateway, `manx_gateway_${series}`);
    expect(await of('refused_total{reason="route_unknown"}')).toBe(1);
    expect(await of("refused_total")).toBe(2);
    await reload({ upstreams: [{ name: "fine", url: fine.url }] });
    gateway.reloadFailed();
    expect(await of('config_reloads_total{result="ok"}')).toBe(1);
    expect(await of('config_reloads_total{result="failed"}')).toBe(1);
  });
});
