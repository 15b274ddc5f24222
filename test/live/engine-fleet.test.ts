/** Several engines behind one port, and who is served first: on real sockets, through the official client where it can say it. */
import { afterEach, describe, expect, it } from "vitest";
import { approximateTokens, type EngineServer } from "../../src/engine-server/index.ts";
import {
  clientOf,
  hello,
  metric,
  post,
  startTwin,
  stopTwins,
  until,
} from "../support/live-twin.ts";

afterEach(stopTwins);

async function ask(server: EngineServer, body: object, headers = {}): Promise<Response> {
  return await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ messages: hello, ...body }),
  });
}

/** As many tokens. */
const twelve = [{ role: "user", content: "word ".repeat(12).trim() }];

/** The one sample of a metric that has this label, wherever it stands among the others. */
async function series(server: EngineServer, name: string, label: string): Promise<number> {
  const lines = (await server.metricsText()).split("\n");
  const found = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  expect(found, `${name} ${label}`).toHaveLength(1);
  return Number(found[0]!.slice(found[0]!.lastIndexOf(" ")));
}

async function nothingIsLeft({ engines, open }: EngineServer): Promise<void> {
  expect(open).toBe(0);
  await until(() => engines.every(({ scheduler }) => scheduler.running === 0), "empty engines");
  expect(engines.map(({ scheduler }) => scheduler.kv.reservedTokens)).toEqual(engines.map(() => 0));
}

describe("replicas", () => {
  it("take turns, and each tells of its own by vLLM's label", async () => {
    const server = await startTwin({}, { replicas: 3 });
    const answers = Array.from({ length: 9 }, () => ask(server, { manx: { output_tokens: 4 } }));
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    for (const engine of ["0", "1", "2"]) {
      const of = (name: string) => series(server, name, `engine="${engine}"`);
      expect(await of("vllm:generation_tokens_total")).toBe(12);
      expect(await of("vllm:e2e_request_latency_seconds_count")).toBe(3);
    }
    await nothingIsLeft(server);
  });

  it("are picked by prefix, so that a prompt comes back to the one that knows it", async () => {
    const server = await startTwin({ memory: "prefix" }, { replicas: 3, routing: "prefix" });
    const topics = ["cats", "tails", "waits"].map((topic) =>
      Array.from({ length: 64 }, (_, i) => `${topic}${i}`).join(" "),
    );
    const cached: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      for (const content of topics) {
        const messages = [{ role: "user", content }];
        const answer = await ask(server, { messages, manx: { output_tokens: 2 } });
        const { usage } = (await answer.json()) as {
          usage: { prompt_tokens_details: { cached_tokens: number } };
        };
        cached.push(usage.prompt_tokens_details.cached_tokens);
      }
    }
    // A prompt that is wholly cached still computes its last token, and so its last block.
    expect(cached).toEqual([0, 0, 0, 48, 48, 48, 48, 48, 48]);
  });

  it("that drafts tell of it as vLLM does", async () => {
    const speculation = { draftTokens: 3, acceptance: 1, draftShare: 0 };
    const server = await startTwin({ speculation });
    const answer = await ask(server, { stream: true, manx: { output_tokens: 41 } });
    const chunks = [...(await answer.text()).matchAll(/"content":"([^"]+)"/g)].map(
      ([, text]) => text!,
    );
    // The first token with the prompt; then three drafts and one more in each chunk, as vLLM sends them.
    expect(chunks.map(approximateTokens)).toEqual([1, ...new Array(10).fill(4)]);
    const drafts = await metric(server, "vllm:spec_decode_num_drafts_total");
    const accepted = await metric(server, "vllm:spec_decode_num_accepted_tokens_total");
    expect([drafts, accepted]).toEqual([10, 30]);
    // A gap for each step that brought tokens, not for each token.
    expect(await metric(server, "vllm:inter_token_latency_seconds_count")).toBe(10);
  });
});

describe("swap", () => {
  it("is told of in /metrics, and only where KV is swapped", async () => {
    const memory = { kvTokens: 32, blockTokens: 4, pieceTokens: 4, preemption: "swap" } as const;
    const server = await startTwin(memory);
    const answers = [8, 9].map((output_tokens) =>
      ask(server, { messages: twelve, manx: { output_tokens } }),
    );
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    const count = (name: string) => metric(server, `manx_engine_${name}_total{`);
    const out = await count("swaps_out");
    expect(out).toBeGreaterThan(0);
    expect([await count("swaps_in"), await count("swaps_dropped")]).toEqual([out, 0]);
    expect(await count("swap_out_tokens")).toBe(await count("swap_in_tokens"));
    expect(await metric(server, "vllm:num_preemptions_total{")).toBe(out);
    expect(await metric(server, "vllm:num_requests_swapped{")).toBe(0);
    expect(await (await startTwin()).metricsText()).not.toContain("swap");
    await nothingIsLeft(server);
  });
});

describe("pools", () => {
  it("answer like one engine, and free both sides when a client leaves", async () => {
    const server = await startTwin({ pools: { prefill: 1, decode: 1, link: "ethernet-25g" } });
    const client = clientOf(server);
    const stream = await client.chat.completions.create({
      model: "llama-3.1-8b",
      messages: hello,
      max_tokens: 12,
      stream: true,
      ...{ ignore_eos: true },
    });
    let words = 0;
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) words += 1;
    expect(words).toBe(12);
    const leaving = new AbortController();
    const gone = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      body: JSON.stringify({ messages: hello, stream: true, manx: { output_tokens: 5_000 } }),
    });
    await gone.body!.getReader().read();
    leaving.abort();
    await until(() => server.open === 0, "the abort");
    await nothingIsLeft(server);
  });
});

describe("order", () => {
  /** Finishes in the order in which they were served: the engine takes one at a time. */
  async function served(server: EngineServer, asked: readonly [string, object, object?][]) {
    const done: string[] = [];
    const blocker = ask(server, { manx: { output_tokens: 60 } });
    await until(() => server.engine.scheduler.running === 1, "the blocker");
    const rest: Promise<unknown>[] = [];
    for (const [name, body, headers] of asked) {
      const before = server.open;
      const answer = ask(server, { manx: { output_tokens: 3 }, ...body }, headers);
      rest.push(answer.then((one) => one.text()).then(() => done.push(name)));
      await until(() => server.open > before, name);
    }
    await (await blocker).text();
    await Promise.all(rest);
    return done;
  }

  it("is by vLLM's field priority, where the lower is the sooner", async () => {
    const server = await startTwin({ order: "priority", ageingUs: 0, sequencesMax: 1 });
    const done = await served(server, [
      ["late", { priority: 5 }],
      ["usual", {}],
      ["soon", { priority: -5 }],
    ]);
    expect(done).toEqual(["soon", "usual", "late"]);
    const count = "manx_engine_class_time_to_first_token_seconds_count";
    expect(await series(server, count, 'priority="-5"')).toBe(1);
    expect(await series(server, count, 'priority="0"')).toBe(2);
  });

  it("is fair between tenants, by header or by OpenAI's user", async () => {
    const server = await startTwin({ order: "fair-share", sequencesMax: 1 });
    const greedy = { user: "greedy" };
    const done = await served(server, [
      ["greedy 1", greedy],
      ["greedy 2", greedy],
      ["greedy 3", greedy],
      ["modest", greedy, { "x-manx-tenant": "modest" }],
    ]);
    expect(done.indexOf("modest")).toBeLessThan(2);
    const tokens = "manx_engine_tenant_tokens_total";
    expect(await metric(server, `${tokens}{tenant="greedy",kind="generated"`)).toBe(9);
    expect(await metric(server, `${tokens}{tenant="modest",kind="prompt"`)).toBe(5);
    expect(await metric(server, `${tokens}{tenant="(none)",kind="generated"`)).toBe(60);
  });

  it("refuses a class where there are none, and one that is no number", async () => {
    const server = await startTwin();
    const refused = await post(server, { messages: hello, priority: 1 });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { param: "priority", message: expect.stringContaining("priority scheduling") },
    });
    expect((await post(server, { messages: hello, priority: "high" })).status).toBe(400);
    expect((await post(server, { messages: hello, user: 7 })).status).toBe(400);
    const header = { "x-manx-tenant": "x".repeat(200) };
    expect((await ask(server, {}, header)).status).toBe(400);
  });

  it("gives series to the first tenants only, however many there are", async () => {
    const server = await startTwin();
    for (let i = 0; i < 40; i += 1) {
      const answer = await ask(server, { user: `u${i}`, manx: { output_tokens: 1 } });
      await answer.text();
    }
    const text = await server.metricsText();
    const tenants = text.match(/^manx_engine_tenant_requests_total/gm) ?? [];
    expect(tenants).toHaveLength(33);
    const other = 'manx_engine_tenant_requests_total{tenant="(other)"';
    expect(await metric(server, other)).toBe(8);
  });
});

describe("health", () => {
  it("says that the pace is not kept, with the figures, where it cannot be", async () => {
    // A step of 20 µs: no timer of any host is that fine.
    const server = await startTwin({}, { cost: { name: "instant", stepUs: () => 20 } });
    const read = async () => (await (await fetch(`${server.url}/health`)).json()) as object;
    expect(await read()).toMatchObject({ status: "ok", pace: { steps: 0 } });
    await (await ask(server, { manx: { output_tokens: 500 } })).text();
    expect(await read()).toMatchObject({
      status: "degraded",
      reason: expect.stringMatching(/steps of 0\.02 ms that ended \d+\.\d\d ms late/),
      pace: { steps: 500, windowS: 10 },
    });
    expect(await metric(server, "manx_engine_degraded")).toBe(1);
    expect(server.pace().worst.status).toBe("degraded");
  });
});
