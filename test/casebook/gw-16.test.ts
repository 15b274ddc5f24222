/**
 * GW-16, retry layers multiply: an SDK with two retries before a gateway with three attempts hit the upstream nine times for
 * one call. Retries are made at one layer; the gateway says so, and the numbers agree everywhere.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { modelFetch } from "../../src/runtime/index.ts";
import { answer } from "../support/http-call.ts";
import { liveGateway, metric } from "../support/live-gateway.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

const policy = { retry: { ...CALL_POLICY.retry, attemptsMax: 3, backoffBaseUs: 10_000 } };
const refusal = {
  error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" },
};

describe("casebook GW-16", () => {
  it("hits the upstream as often as the gateway's own plan, whatever the SDK would do", async () => {
    const live = await liveGateway(() => [{ bytes: json(429, refusal) }], { policy });
    const { gateway, upstream } = live;
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x" });
    const asked = openai.chat.completions.create({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
    });
    const error = await asked.catch(
      (thrown: unknown) => thrown as InstanceType<typeof OpenAI.APIError>,
    );
    expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    expect(upstream.hits).toHaveLength(3);
    expect(await metric(gateway, 'manx_gateway_retries_total{reason="retry"}')).toBe(2);

    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: "x" });
    const message = anthropic.messages.create({
      model: "m",
      max_tokens: 8,
      messages: [{ role: "user", content: "hi" }],
    });
    await expect(message).rejects.toMatchObject({ status: 429 });
    expect(upstream.hits).toHaveLength(6);
  });

  it("says x-should-retry: false with the upstream's own words, and passes a Retry-After on", async () => {
    const { chatUrl } = await liveGateway(
      () => [{ bytes: json(429, refusal, { "retry-after": "3600" }) }],
      { policy },
    );
    const { status, headers, text } = await answer(chatUrl);
    expect(status).toBe(429);
    expect(headers).toMatchObject({ "x-should-retry": "false", "retry-after": "3600" });
    expect(JSON.parse(text)).toEqual(refusal);
    expect(headers["x-manx-attempts"]).toBe("1");
  });
});

describe("casebook GW-16 in the agent's own process", () => {
  it("hits the upstream as often as this one plan, though each SDK would try three times", async () => {
    const upstream = await startReplayServer(() => [{ bytes: json(429, refusal) }]);
    onTestFinished(() => upstream.close());
    const fetch = modelFetch({ policy: { retry: { attempts: 2, backoff: "5ms" } } });
    const openai = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: "x", fetch });
    const messages = [{ role: "user" as const, content: "hi" }];
    await expect(openai.chat.completions.create({ model: "m", messages })).rejects.toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
    });
    expect(upstream.hits).toHaveLength(2);
    const anthropic = new Anthropic({ baseURL: upstream.url, apiKey: "x", fetch });
    const asked = anthropic.messages.create({ model: "m", max_tokens: 8, messages });
    await expect(asked).rejects.toMatchObject({ status: 429 });
    expect(upstream.hits).toHaveLength(4);
    expect(fetch.stats()).toMatchObject({ calls: 2, attempts: 4, retries: 2, failed: 4 });
  });

  it("makes them at one layer, where a gateway stands behind it", async () => {
    const live = await liveGateway(() => [{ bytes: json(429, refusal) }], { policy });
    const fetch = modelFetch({ policy: { retry: { attempts: 3, backoff: "5ms" } } });
    const openai = new OpenAI({ baseURL: `${live.gateway.url}/v1`, apiKey: "x", fetch });
    const messages = [{ role: "user" as const, content: "hi" }];
    // Not known to be a gateway at the first call: what it says is enough.
    for (const hits of [3, 6]) {
      const asked = openai.chat.completions.create({ model: "m", messages });
      await expect(asked).rejects.toMatchObject({ status: 429 });
      expect(live.upstream.hits).toHaveLength(hits);
    }
    expect(fetch.stats()).toMatchObject({ attempts: 2, retries: 0 });
  });
});
