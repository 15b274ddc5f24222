/** The live twin as its clients meet it: the official client, many at a time, going down. */
import { connect } from "node:net";
import type OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { ENGINE_DEFAULTS } from "../../src/engine/index.ts";
import { approximateTokens } from "../../src/engine-server/index.ts";
import {
  clientOf,
  hello,
  metric,
  post,
  startTwin,
  stopTwins,
  until,
} from "../support/live-twin.ts";

const { model } = ENGINE_DEFAULTS;

afterEach(stopTwins);

describe("through the official client", () => {
  it("streams as many words as the usage says, once more the same, and whole the same", async () => {
    const server = await startTwin();
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
    const client = clientOf(await startTwin());
    const body = { model, messages: hello, max_tokens: 500, manx: { output_tokens: 33 } };
    const answer = await client.chat.completions.create(body as typeof body & { stream?: false });
    expect(answer.usage?.completion_tokens).toBe(33);
    expect(answer.choices[0]?.finish_reason).toBe("stop");
  });

  it("streams a scripted tool call whose arguments parse, with text before it", async () => {
    const client = clientOf(await startTwin());
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
    const client = clientOf(await startTwin());
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
    const client = clientOf(await startTwin({}, { servedModel: "cat" }));
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
    const client = clientOf(await startTwin());
    const wrong = client.chat.completions.create({ model: "gpt-9", messages: hello });
    await expect(wrong).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      error: { manx_code: "MANX_MODEL_UNKNOWN" },
    });
    await expect(wrong).rejects.toThrow(`"${model}"`);
    const long = client.chat.completions.create({ model, messages: hello, max_tokens: 99_999 });
    await expect(long).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
    await expect(long).rejects.toThrow("5 prompt + 99999 output = 100004 tokens");
  });
});

describe("many at a time", () => {
  it("completes 30 streams, each in order and to its end, and counts what it did", async () => {
    const server = await startTwin({ sequencesMax: 8 });
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
    const server = await startTwin();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const body = JSON.stringify({ messages: hello, stream: true, max_tokens: 1 });
    const reads: string[] = [];
    socket.on("data", (bytes) => reads.push(bytes.toString()));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => reads.at(-1)?.endsWith("0\r\n\r\n") === true, "the end");
    socket.destroy();
    // The head alone, as it says nothing about the first token; then role, token, finish and end together. On a busy machine
    // the two may be read at once, never in more pieces.
    expect(reads[0]).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(reads.length).toBeLessThanOrEqual(2);
    expect(reads.at(-1)).toContain('"role":"assistant"');
    expect(reads.at(-1)).toContain("[DONE]");
  });

  it("finds a prompt's blocks again with a prefix cache, and says so", async () => {
    const server = await startTwin({ memory: "prefix" });
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
    const server = await startTwin({ scheduling, memory, sequencesMax: 4 });
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
    const server = await startTwin();
    const stream = await post(server, {
      messages: hello,
      stream: true,
      manx: { output_tokens: 60 },
    });
    const closed = server.close({ drainUs: 20_000_000 });
    await expect(post(server, { messages: hello })).rejects.toThrow();
    expect((await stream.text()).endsWith("data: [DONE]\n\n")).toBe(true);
    await closed;
    const again = await startTwin({}, { port: Number(new URL(server.url).port) });
    expect(again.url).toBe(server.url);
  });

  it("tells a stream that it cannot finish why it ends", async () => {
    const server = await startTwin();
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
    const server = await startTwin();
    await expect(startTwin({}, { port: Number(new URL(server.url).port) })).rejects.toMatchObject({
      code: "MANX_PORT_IN_USE",
    });
  });
});
