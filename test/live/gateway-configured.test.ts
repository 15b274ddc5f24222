/** A gateway with a configuration, in front of live twins: routes, keys, lanes, translation, reload. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { newKey } from "../../src/gateway/keys/index.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { startTwin, stopTwins } from "../support/live-twin.ts";
import {
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  json,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

afterEach(stopTwins);

const ask = { messages: [{ role: "user" as const, content: "Say something about cats." }] };

/** A twin that calls its model `m`, as one upstream of a gateway. */
async function twinUpstream(name: string, more: object = {}) {
  const twin = await startTwin({}, { servedModel: "m" });
  return { twin, upstream: { name, url: twin.url, kind: "vllm", ...more } };
}

describe("models", () => {
  it("are renamed on the way, listed, and unknown ones told with the nearest name", async () => {
    const { upstream } = await twinUpstream("local");
    const { gateway } = await configuredGateway({
      upstreams: [upstream],
      models: [{ name: "fast", targets: [{ upstream: "local", model: "m" }] }],
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
    const made = await openai.chat.completions.create({ model: "fast", max_tokens: 5, ...ask });
    expect(made.usage?.completion_tokens).toBe(5);
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(["fast"]);
    const wrong = openai.chat.completions.create({ model: "fas", ...ask });
    await expect(wrong).rejects.toMatchObject({
      status: 404,
      code: "MANX_MODEL_UNKNOWN",
      message: expect.stringContaining('"fast"'),
    });
  });

  it("fail over from a target that is down to the next order, without a trace for the caller", async () => {
    const { upstream } = await twinUpstream("good");
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "bad", url: "http://127.0.0.1:9", preconnect: 0 }, upstream],
      models: [
        {
          name: "m",
          targets: [
            { upstream: "bad", order: 0 },
            { upstream: "good", order: 1 },
          ],
        },
      ],
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
    const stream = await openai.chat.completions.create({
      model: "m",
      max_tokens: 5,
      stream: true,
      ...ask,
    });
    let text = "";
    for await (const event of stream) text += event.choices[0]?.delta.content ?? "";
    expect(text.length).toBeGreaterThan(0);
    expect(await metric(gateway, 'manx_gateway_retries_total{reason="failover"}')).toBe(1);
  });
});

describe("translation", () => {
  it("lets Anthropic's client talk to an engine that speaks OpenAI's API, streaming and not", async () => {
    const { upstream } = await twinUpstream("local", { format: "openai" });
    const { gateway } = await configuredGateway({ upstreams: [upstream] });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
    const body = { model: "m", max_tokens: 7, ...ask };
    const whole = await anthropic.messages.create(body);
    expect(whole).toMatchObject({ type: "message", role: "assistant", stop_reason: "max_tokens" });
    expect(whole.usage.output_tokens).toBe(7);
    const stream = anthropic.messages.stream(body);
    const final = await stream.finalMessage();
    expect(final.content[0]).toMatchObject({ type: "text" });
    expect(final.usage.output_tokens).toBe(7);
    expect(await metric(gateway, 'manx_gateway_ttft_seconds_count{route="messages"}')).toBe(1);
  });

  it("lets OpenAI's client talk to an upstream that speaks Anthropic's API", async () => {
    const server = await startReplayServer(({ body }) => {
      expect(JSON.parse(body)).toMatchObject({ model: "claude", max_tokens: 9 });
      const message = {
        ...{ id: "msg_1", type: "message", role: "assistant", model: "claude" },
        content: [{ type: "text", text: "Purr." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 5, output_tokens: 2 },
      };
      return [{ bytes: json(200, message) }];
    });
    const { gateway } = await configuredGateway(
      {
        upstreams: [{ name: "claude", url: server.url, format: "anthropic", key: "env:KEY" }],
        models: [{ name: "cat", targets: [{ upstream: "claude", model: "claude" }] }],
      },
      { KEY: "sk-ours" },
    );
    const openai = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: "sk-callers",
      maxRetries: 0,
    });
    const made = await openai.chat.completions.create({ model: "cat", max_tokens: 9, ...ask });
    expect(made.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "Purr." } });
    expect(made.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2 });
    const { headers, path } = server.hits[0]!;
    expect([path, headers["x-api-key"], headers["anthropic-version"]]).toEqual([
      "/v1/messages",
      "sk-ours",
      "2023-06-01",
    ]);
    expect(JSON.stringify(headers)).not.toContain("sk-callers");
    const embedding = openai.embeddings.create({ model: "cat", input: "x" });
    await expect(embedding).rejects.toMatchObject({ status: 404, code: "MANX_ROUTE_UNKNOWN" });
    await server.close();
  });

  it("goes to another target with what the first one has no equal for", async () => {
    const server = await startReplayServer(() => [{ bytes: json(200, { data: [] }) }]);
    const { gateway } = await configuredGateway({
      upstreams: [
        { name: "claude", url: "http://127.0.0.1:9", format: "anthropic", preconnect: 0 },
        { name: "openai", url: server.url },
      ],
      models: [
        {
          name: "m",
          targets: [
            { upstream: "claude", order: 0 },
            { upstream: "openai", order: 1 },
          ],
        },
      ],
    });
    const { status, text } = await answer(`${gateway.url}/v1/embeddings`, {
      body: '{"model":"m"}',
    });
    expect([status, text]).toEqual([200, '{"data":[]}']);
    await server.close();
  });

  it("tells an upstream's refusal, and a cut stream, in the caller's words", async () => {
    const cut: Step[] = [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(chatText("Pu")) },
      { afterMs: 10, end: "rst" },
    ];
    let isCut = false;
    const server = await startReplayServer(() =>
      isCut
        ? cut
        : [{ bytes: json(400, { error: { message: "too hot", type: "invalid_request_error" } }) }],
    );
    const { gateway } = await configuredGateway({ upstreams: [{ name: "u", url: server.url }] });
    const body = JSON.stringify({ model: "m", max_tokens: 9, stream: true, ...ask });
    const refused = await answer(`${gateway.url}/v1/messages`, { body });
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      400,
      {
        type: "error",
        error: expect.objectContaining({ type: "invalid_request_error", message: "too hot" }),
      },
    ]);
    isCut = true;
    const { text } = await answer(`${gateway.url}/v1/messages`, { body });
    expect(text).toContain('"text":"Pu"');
    expect(text).toContain("event: error");
    expect(text).not.toContain("message_stop");
    await server.close();
  });
});

describe("keys", () => {
  it("are asked for, checked, bound to models, and go no further", async () => {
    const { key, id, hash } = newKey((count) => randomBytes(count));
    const record = { id, hash, tenant: "team", models: ["m"], created: "2026-01-01T00:00:00Z" };
    const server = await startReplayServer(() => [{ bytes: json(200, { ok: true }) }]);
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "u", url: server.url, format: "any" }],
      keys: { source: "inline", keys: [record] },
    });
    const url = `${gateway.url}/v1/chat/completions`;
    const body = JSON.stringify({ model: "m", ...ask });
    const call = (authorization: string, sent = body) =>
      answer(url, { body: sent, headers: { authorization } });
    expect((await answer(url, { body })).status).toBe(401);
    expect((await call("Bearer mk_wrong")).status).toBe(401);
    expect((await call(`Bearer ${key}`)).status).toBe(200);
    const other = await call(`Bearer ${key}`, JSON.stringify({ model: "other", ...ask }));
    expect([other.status, JSON.parse(other.text).error.code]).toEqual([403, "MANX_FORBIDDEN"]);
    expect(server.hits).toHaveLength(1);
    expect(JSON.stringify(server.hits[0]!.headers)).not.toContain(key);
    await server.close();
  });
});

describe("admission", () => {
  it("queues what is too much at a time, lets it in in turn, and turns away what would wait too long", async () => {
    const server = await startReplayServer(() => [{ afterMs: 80, bytes: json(200, { ok: true }) }]);
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "u", url: server.url, format: "any" }],
      admission: { concurrency: 2, queue: 2, tenantQueueFactor: 100 },
    });
    const url = `${gateway.url}/v1/chat/completions`;
    const made = await Promise.all(
      Array.from({ length: 8 }, () => answer(url, { body: '{"model":"m"}' })),
    );
    const statuses = made.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
    const refused = made.find(({ status }) => status === 429)!;
    expect(JSON.parse(refused.text).error.code).toBe("MANX_OVERLOADED");
    expect(Number(refused.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    await until(() => gateway.inFlight() === 0);
    expect((await answer(url, { body: "{}" })).status).toBe(200);
    await server.close();
  });
});

describe("a reload", () => {
  it("changes where calls go, keeps open streams and the connections of upstreams that stay", async () => {
    const script: Step[] = [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(chatText("a")) },
      { afterMs: 300, bytes: chunk(chatText("b", "stop")) },
      { bytes: chunk("data: [DONE]\n\n") },
      { bytes: "0\r\n\r\n" },
    ];
    const old = await startReplayServer(() => script);
    const fresh = await startReplayServer(() => [{ bytes: json(200, { from: "fresh" }) }]);
    const one = { name: "one", url: old.url, format: "any" };
    const { gateway, reload } = await configuredGateway({ upstreams: [one] });
    const url = `${gateway.url}/v1/chat/completions`;
    const stream = answer(url, { body: '{"stream":true}' });
    await old.hit(1);
    await reload({ upstreams: [{ name: "two", url: fresh.url, format: "any" }] });
    expect(JSON.parse((await answer(url, { body: "{}" })).text)).toEqual({ from: "fresh" });
    const { text, clean } = await stream;
    expect([text.includes("[DONE]"), clean]).toEqual([true, true]);
    await reload({ upstreams: [one] });
    expect(gateway.connections().open).toBeGreaterThan(0);
    await Promise.all([old.close(), fresh.close()]);
  });
});

describe("reloads", () => {
  it("that fail change nothing: not who may call, not where it is logged", async () => {
    const server = await startReplayServer(() => [{ bytes: json(200, { ok: true }) }]);
    const folder = mkdtempSync(join(tmpdir(), "manx-reload-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [keys, log, other] = ["keys.json", "a.log", "b.log"].map((name) => join(folder, name));
    writeFileSync(keys!, JSON.stringify({ version: 1, keys: [] }));
    writeFileSync(`${keys}.spent.json`, "{");
    const upstreams = [{ name: "u", url: server.url, format: "any" }];
    const { gateway, reload } = await configuredGateway({ upstreams, log: { access: log } });
    const asked = { upstreams, keys: { source: "file", path: keys }, log: { access: other } };
    await expect(reload(asked)).rejects.toMatchObject({ code: "MANX_SPENT_FILE" });
    const url = `${gateway.url}/v1/chat/completions`;
    expect((await answer(url, { body: "{}" })).status).toBe(200);
    await until(() => existsSync(log!) && readFileSync(log!, "utf8").includes('"status":200'));
    expect(existsSync(other!) ? readFileSync(other!, "utf8") : "").toBe("");
    await server.close();
  });

  it("at the same time come one after the other, and leave only the last one's connections", async () => {
    const servers = await Promise.all(
      Array.from({ length: 4 }, () => startReplayServer(() => [{ bytes: json(200, {}) }])),
    );
    const sections = servers.map(({ url }, i) => {
      return { upstreams: [{ name: `u${i}`, url, format: "any", preconnect: 2 }] };
    });
    const { gateway, read } = await configuredGateway(sections[0]!);
    const later = [];
    for (const section of sections.slice(1)) later.push(await read(section));
    await Promise.all(later.map((config) => gateway.reload(config)));
    await until(() => servers.slice(0, 3).every((server) => server.openConnections === 0));
    expect(servers[3]!.openConnections).toBe(2);
    expect((await answer(`${gateway.url}/v1/chat/completions`, { body: "{}" })).status).toBe(200);
    await Promise.all(servers.map((server) => server.close()));
  });
});

describe("replicas", () => {
  it("share the work, and a dead one is passed over", async () => {
    const [a, b] = [
      await startTwin({}, { servedModel: "m" }),
      await startTwin({}, { servedModel: "m" }),
    ];
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "fleet", urls: [a!.url, b!.url], kind: "vllm", router: "prefix" }],
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
    const call = () => openai.chat.completions.create({ model: "m", max_tokens: 3, ...ask });
    await Promise.all(Array.from({ length: 6 }, call));
    await b!.close();
    for (let i = 0; i < 6; i += 1) expect((await call()).usage?.completion_tokens).toBe(3);
  });
});
