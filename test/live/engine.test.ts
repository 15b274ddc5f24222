/** The live twin as its clients meet it: real sockets, the official client, bad input, and the same twin in virtual time. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { Random, realClock, SimClock } from "../../src/clock/index.ts";
import {
  type Batch,
  buildEngine,
  type CostModel,
  ENGINE_DEFAULTS,
  type EngineConfig,
  type EngineRequest,
} from "../../src/engine/index.ts";
import {
  approximateTokens,
  type EngineServer,
  type EngineServerOptions,
  startEngineServer,
} from "../../src/engine-server/index.ts";

/** A step of 2 ms and 10 µs a token: cheap enough for a test, long enough for a host timer. */
const cheap: CostModel = { name: "cheap", stepUs: (batch: Batch) => 2_000 + 10 * batch.tokens };

const servers: EngineServer[] = [];

async function start(
  config: Partial<EngineConfig> = {},
  options: Partial<EngineServerOptions> = {},
): Promise<EngineServer> {
  const server = await startEngineServer({
    config: { ...ENGINE_DEFAULTS, ...config },
    clock: realClock,
    port: 0,
    cost: cheap,
    checked: true,
    ...options,
  });
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function clientOf(server: EngineServer): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
}

const model = ENGINE_DEFAULTS.model;
const hello = [{ role: "user" as const, content: "say hello to the twin" }];

interface Refusal {
  readonly error: { message: string; code: string; manx_code: string; param: string | null };
}

async function post(server: EngineServer, body: unknown, path = "/v1/chat/completions") {
  return await fetch(server.url + path, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** The value of the one sample of a metric whose line starts with this. */
async function metric(server: EngineServer, start: string): Promise<number> {
  const lines = (await server.metricsText()).split("\n").filter((line) => line.startsWith(start));
  expect(lines, start).toHaveLength(1);
  return Number(lines[0]!.slice(lines[0]!.lastIndexOf(" ")));
}

async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    if (isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`waited in vain for: ${what}`);
}

describe("through the official client", () => {
  it("streams as many words as the usage says, once more the same, and whole the same", async () => {
    const server = await start();
    const client = clientOf(server);
    const read = async () => {
      const stream = await client.chat.completions.create({
        model,
        messages: hello,
        max_tokens: 20,
        stream: true,
        stream_options: { include_usage: true },
      });
      const texts: string[] = [];
      let finish: string | null = null;
      let usage: OpenAI.CompletionUsage | null | undefined;
      let role: string | undefined;
      for await (const chunk of stream) {
        const choice = chunk.choices[0];
        role ??= choice?.delta.role;
        if (choice?.delta.content) texts.push(choice.delta.content);
        finish = choice?.finish_reason ?? finish;
        usage = chunk.usage ?? usage;
      }
      return { texts, finish, usage, role };
    };
    const first = await read();
    expect(first).toMatchObject({
      finish: "length",
      role: "assistant",
      usage: { prompt_tokens: 5, completion_tokens: 20, total_tokens: 25 },
    });
    expect(first.texts).toHaveLength(20);
    expect(approximateTokens(first.texts.join(""))).toBe(20);
    expect(await read()).toEqual(first);

    const whole = await client.chat.completions.create({ model, messages: hello, max_tokens: 20 });
    expect(whole.choices[0]).toMatchObject({
      finish_reason: "length",
      message: { role: "assistant", content: first.texts.join("") },
    });
    expect(whole.usage).toMatchObject(first.usage!);
  });

  it("gives lengths that a trace dictates, and stops", async () => {
    const client = clientOf(await start());
    const body = { model, messages: hello, max_tokens: 500, manx: { output_tokens: 33 } };
    const answer = await client.chat.completions.create(body as typeof body & { stream?: false });
    expect(answer.usage?.completion_tokens).toBe(33);
    expect(answer.choices[0]?.finish_reason).toBe("stop");
  });

  it("streams a scripted tool call whose arguments parse, with text before it", async () => {
    const client = clientOf(await start());
    const args = { query: "tails of cats", limit: 3 };
    const manx = { output_tokens: 4, tool_calls: [{ name: "search", arguments: args }] };
    const runner = client.chat.completions.stream({ model, messages: hello, ...{ manx } });
    const { message, finish_reason } = (await runner.finalChatCompletion()).choices[0]!;
    expect(finish_reason).toBe("tool_calls");
    expect(approximateTokens(message.content ?? "")).toBe(4);
    const call = message.tool_calls?.[0];
    expect(call).toMatchObject({ type: "function", function: { name: "search" } });
    if (call?.type === "function") expect(JSON.parse(call.function.arguments)).toEqual(args);
  });

  it("gets a forced tool call whole, and JSON in the form that it asked for", async () => {
    const client = clientOf(await start());
    const parameters = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    };
    const forced = await client.chat.completions.create({
      model,
      messages: hello,
      tools: [{ type: "function", function: { name: "weather", parameters } }],
      tool_choice: { type: "function", function: { name: "weather" } },
    });
    expect(forced.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { content: null, tool_calls: [{ function: { arguments: '{"city":""}' } }] },
    });
    const shaped = await client.chat.completions.create({
      model,
      messages: hello,
      response_format: { type: "json_schema", json_schema: { name: "x", schema: parameters } },
    });
    expect(shaped.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: '{"city":""}' },
    });
  });

  it("serves completions and lists its model", async () => {
    const client = clientOf(await start({}, { servedModel: "cat" }));
    const asked = { model: "cat", prompt: "a b c", max_tokens: 4, ignore_eos: true };
    const answer = await client.completions.create({ ...asked, ...{ stream: false } });
    expect(answer.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 });
    expect(approximateTokens(answer.choices[0]!.text)).toBe(4);
    let streamed = "";
    const stream = await client.completions.create({ ...asked, stream: true });
    for await (const chunk of stream) streamed += chunk.choices[0]?.text ?? "";
    expect(streamed).toBe(answer.choices[0]!.text);
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(["cat"]);
  });

  it("raises the client's own typed errors", async () => {
    const client = clientOf(await start());
    const wrong = client.chat.completions.create({ model: "gpt-9", messages: hello });
    await expect(wrong).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    await expect(wrong).rejects.toThrow(`"${model}"`);
    const long = client.chat.completions.create({ model, messages: hello, max_tokens: 99_999 });
    await expect(long).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
    await expect(long).rejects.toThrow("5 prompt + 99999 output = 100004 tokens");
  });
});

describe("what a client can do wrong", () => {
  it("answers each bad body with 400, the field and a stable code, and goes on", async () => {
    const server = await start();
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
    const server = await start({ memoryShare: 0.236, contextMax: 131_072 });
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
    const server = await start({}, { bodyBytesMax: 1_000 });
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
    const server = await start();
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
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    expect(await (await fetch(server.url)).text()).toContain("manx engine");
  });

  it("answers 429 with Retry-After when its queue is full, and serves again afterwards", async () => {
    const server = await start({ sequencesMax: 1 }, { waitingMax: 2 });
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
    const server = await start({ sequencesMax: 1 });
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
    const server = await start({ contextMax: 100_000 }, { cost: { name: "x", stepUs: () => 50 } });
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

describe("many at a time", () => {
  it("completes 30 streams, each in order and to its end, and counts what it did", async () => {
    const server = await start({ sequencesMax: 8 });
    const client = clientOf(server);
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        const messages = [{ role: "user" as const, content: `request ${i}` }];
        const body = { model, messages, manx: { output_tokens: 5 + i } };
        const stream = await client.chat.completions.create({ ...body, stream: true });
        let text = "";
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
        const whole = await client.chat.completions.create({ ...body, ...{ stream: false } });
        return { i, text, same: text === whole.choices[0]?.message.content };
      }),
    );
    for (const { i, text, same } of results) {
      expect(approximateTokens(text)).toBe(5 + i);
      expect(same).toBe(true);
    }
    const tokens = 2 * results.reduce((sum, { i }) => sum + 5 + i, 0);
    expect(await metric(server, "vllm:time_to_first_token_seconds_count")).toBe(60);
    expect(await metric(server, "vllm:e2e_request_latency_seconds_count")).toBe(60);
    expect(await metric(server, "vllm:request_queue_time_seconds_count")).toBe(60);
    expect(await metric(server, "vllm:request_time_per_output_token_seconds_count")).toBe(60);
    expect(await metric(server, "vllm:inter_token_latency_seconds_count")).toBe(tokens - 60);
    expect(await metric(server, "vllm:generation_tokens_total")).toBe(tokens);
    expect(await metric(server, "vllm:prompt_tokens_total")).toBe(120);
    expect(await metric(server, 'vllm:request_success_total{finished_reason="stop"')).toBe(60);
    const steps = await metric(server, "vllm:iteration_tokens_total_count");
    expect(steps).toBe(server.engine.totals.steps);
    expect(await metric(server, "manx_engine_timer_lag_seconds_count")).toBe(steps);
    expect(await metric(server, "vllm:iteration_tokens_total_sum")).toBe(
      server.engine.totals.computedTokens,
    );
    expect(await metric(server, "vllm:cache_config_info")).toBe(1);
  });

  it("writes all that a step brings for one stream in one piece", async () => {
    const server = await start();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const body = JSON.stringify({ messages: hello, stream: true, max_tokens: 1 });
    const reads: string[] = [];
    socket.on("data", (bytes) => reads.push(bytes.toString()));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => reads.at(-1)?.endsWith("0\r\n\r\n") === true, "the end");
    socket.destroy();
    // The head alone, as it says nothing about the first token; then role, token, finish and end together.
    expect(reads[0]).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(reads[0]).not.toContain("data:");
    expect(reads).toHaveLength(2);
    expect(reads[1]).toContain('"role":"assistant"');
    expect(reads[1]).toContain("[DONE]");
  });

  it("finds a prompt's blocks again with a prefix cache, and says so", async () => {
    const server = await start({ memory: "prefix" });
    const content = Array.from({ length: 100 }, (_, i) => `w${i}`).join(" ");
    const ask = async (extra: string): Promise<number> => {
      const answer = await clientOf(server).chat.completions.create({
        model,
        messages: [
          { role: "user", content },
          { role: "user", content: extra },
        ],
        max_tokens: 2,
      });
      return answer.usage?.prompt_tokens_details?.cached_tokens ?? -1;
    };
    expect(await ask("first")).toBe(0);
    expect(await ask("and another")).toBe(96);
    expect(await metric(server, "vllm:prefix_cache_hits_total")).toBe(96);
    expect(await metric(server, "vllm:prefix_cache_queries_total")).toBe(203);
  });

  it.each([
    ["static", "contiguous"],
    ["continuous", "paged"],
  ] as const)("serves %s batching on %s memory", async (scheduling, memory) => {
    const server = await start({ scheduling, memory, sequencesMax: 4 });
    const answers = await Promise.all(
      [3, 9, 6, 12, 5].map(async (tokens) => {
        const response = await post(server, { messages: hello, manx: { output_tokens: tokens } });
        return ((await response.json()) as OpenAI.ChatCompletion).usage?.completion_tokens;
      }),
    );
    expect(answers).toEqual([3, 9, 6, 12, 5]);
    expect(server.engine.scheduler.kv.reservedTokens).toBe(0);
  });
});

describe("going down", () => {
  it("lets open streams end, refuses new requests, and frees its port", async () => {
    const server = await start();
    const stream = await post(server, {
      messages: hello,
      stream: true,
      manx: { output_tokens: 60 },
    });
    const closed = server.close({ drainUs: 20_000_000 });
    await expect(post(server, { messages: hello })).rejects.toThrow();
    expect((await stream.text()).endsWith("data: [DONE]\n\n")).toBe(true);
    await closed;
    const again = await start({}, { port: Number(new URL(server.url).port) });
    expect(again.url).toBe(server.url);
  });

  it("tells a stream that it cannot finish why it ends", async () => {
    const server = await start();
    const stream = await post(server, {
      messages: hello,
      stream: true,
      manx: { output_tokens: 16_000 },
    });
    await server.close();
    const text = await stream.text();
    expect(text).toContain('"code":"MANX_DRAINING"');
    expect(text).not.toContain("[DONE]");
  });

  it("says which address is taken", async () => {
    const server = await start();
    await expect(start({}, { port: Number(new URL(server.url).port) })).rejects.toMatchObject({
      code: "MANX_PORT_IN_USE",
    });
  });
});

describe("the twin is one", () => {
  interface TimedRequest {
    readonly atUs: number;
    readonly promptTokens: number;
    readonly outputTokens: number;
  }
  const config: EngineConfig = { ...ENGINE_DEFAULTS, sequencesMax: 6, tokensMax: 256 };
  const cost: CostModel = { name: "slow", stepUs: (batch) => 8_000 + 40 * batch.tokens };

  function virtualTtftUs(requests: readonly TimedRequest[]): number[] {
    const ttftUs: number[] = [];
    const clock = new SimClock();
    const onToken = (request: EngineRequest, nowUs: number): void => {
      if (request.generated === 1) ttftUs.push(nowUs - request.arrivedUs);
    };
    const sink = { onToken, onFinish: () => undefined };
    const engine = buildEngine(config, { clock, cost, sink });
    for (const request of requests) clock.at(request.atUs, () => engine.submit(request, undefined));
    clock.runSync();
    return ttftUs;
  }

  async function liveTtftUs(requests: readonly TimedRequest[]): Promise<number[]> {
    const server = await start(config, { cost });
    // The first request of a process pays for compiling all that it passes through.
    await (await post(server, { messages: hello, stream: true, max_tokens: 5 })).text();
    const startUs = realClock.nowUs() + 20_000;
    return await Promise.all(
      requests.map(async ({ atUs, promptTokens, outputTokens }) => {
        const messages = [{ role: "user", content: "word ".repeat(promptTokens) }];
        const manx = { output_tokens: outputTokens };
        await realClock.sleepUntil(startUs + atUs);
        const response = await post(server, { messages, stream: true, manx });
        const reader = response.body!.getReader();
        await reader.read();
        const ttftUs = realClock.nowUs() - startUs - atUs;
        while (!(await reader.read()).done);
        return ttftUs;
      }),
    );
  }

  it("has live the TTFT that it has in virtual time, on the same 40 requests", async () => {
    const random = new Random(7, "arrivals");
    let atUs = 0;
    const requests = Array.from({ length: 40 }, () => {
      atUs += Math.round(random.exponential(22_000));
      return { atUs, promptTokens: 20 + random.int(400), outputTokens: 5 + random.int(20) };
    });
    const median = (values: number[]): number =>
      values.toSorted((a, b) => a - b)[values.length / 2]! / 1_000;
    const virtualMs = median(virtualTtftUs(requests));
    // Queueing makes most of it, so a twin that scheduled otherwise live would be far off.
    expect(virtualMs).toBeGreaterThan(50);
    // A busy machine only ever makes it later; what is wrong in the twin would be wrong each time.
    let errorMs = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 3 && errorMs > 0.25 * virtualMs + 5; tries += 1) {
      errorMs = Math.abs(median(await liveTtftUs(requests)) - virtualMs);
    }
    expect(errorMs).toBeLessThan(0.25 * virtualMs + 5);
  });
});
