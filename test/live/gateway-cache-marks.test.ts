/** Prompts laid out for the provider's cache on their way, and what /metrics says of how it is used. */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { metric } from "../support/live-gateway.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

interface Sent {
  readonly tools: readonly { readonly name: string; readonly cache_control?: object }[];
  readonly system: readonly object[];
  readonly messages: readonly object[];
}

const tool = (name: string) => ({
  name,
  description: "d".repeat(2_400),
  input_schema: { type: "object" as const },
});

/** @param usage of each answer in turn; the last one stays. */
async function gatewayWith(cacheMarks: unknown, usage: readonly object[], format = "anthropic") {
  let served = 0;
  const server = await startReplayServer(() => {
    const counted = usage[Math.min(served, usage.length - 1)];
    served += 1;
    const body = {
      ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn" },
      content: [{ type: "text", text: "Yes." }],
      usage: { input_tokens: 5, output_tokens: 2, ...counted },
    };
    return [{ bytes: json(200, body) }];
  });
  onTestFinished(() => server.close());
  const target = { upstream: "claude", model: "claude-sonnet-4-5" };
  const { gateway } = await configuredGateway({
    upstreams: [{ name: "claude", url: server.url, format }],
    models: [{ name: "smart", targets: [target], cacheMarks }],
  });
  const client = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
  const sent = (at: number): Sent => JSON.parse(server.hits[at]!.body) as Sent;
  const say = (more: object) =>
    client.messages.create({
      ...{ model: "smart", max_tokens: 9, system: "You help.", tools: [tool("y"), tool("x")] },
      messages: [{ role: "user", content: "Hi" }],
      ...more,
    });
  return { gateway, server, sent, say };
}

describe("cache marks", () => {
  it("go with tools in one order, and usage confirms them", async () => {
    const written = { cache_creation_input_tokens: 1_300, cache_read_input_tokens: 0 };
    const { gateway, sent, say } = await gatewayWith(true, [written]);
    await say({});
    expect(sent(0).tools.map(({ name }) => name)).toEqual(["x", "y"]);
    expect(sent(0).tools.map((one) => "cache_control" in one)).toEqual([false, true]);
    expect(JSON.stringify(sent(0).messages)).toContain('"cache_control":{"type":"ephemeral"}');
    const plans = 'manx_gateway_cache_plans_total{model="smart",confirmed=';
    expect(await metric(gateway, `${plans}"yes"}`)).toBe(1);
    expect(await metric(gateway, `${plans}"no"}`)).toBe(0);
  });

  it("that the upstream does not honour are counted", async () => {
    const { gateway, say } = await gatewayWith(true, [{}]);
    await say({});
    expect(
      await metric(gateway, 'manx_gateway_cache_plans_total{model="smart",confirmed="no"}'),
    ).toBe(1);
  });

  it("are off by default, and then not a byte is touched", async () => {
    const { gateway, server } = await gatewayWith(false, [{}]);
    const body = '{"messages":[{"role":"user","content":"Hi"}],  "max_tokens":9,"model":"smart"}';
    await answer(`${gateway.url}/v1/messages`, { body });
    expect(server.hits[0]!.body).toBe(body.replace('"smart"', '"claude-sonnet-4-5"'));
    expect(await metric(gateway, 'manx_gateway_cacheable_tokens_total{model="smart"}')).toBe(0);
  });

  it("leave a body alone that is nested too deep to be written again", async () => {
    const { gateway, server } = await gatewayWith(true, [{}]);
    const deep = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
    const body = `{"model":"smart","messages":[{"role":"user","content":${deep}}]}`;
    const { status } = await answer(`${gateway.url}/v1/messages`, { body });
    expect([status, server.hits[0]!.body.length > 300_000]).toEqual([200, true]);
  });

  it("are none where the caller has set its own", async () => {
    const { sent, say } = await gatewayWith({ order: false }, [{}]);
    const system = [
      { type: "text" as const, text: "You help.", cache_control: { type: "ephemeral" as const } },
    ];
    await say({ system });
    expect(JSON.stringify(sent(0)).split("cache_control")).toHaveLength(2);
    expect(sent(0).tools.map(({ name }) => name)).toEqual(["y", "x"]);
  });
});

describe("a conversation that breaks its own prefix", () => {
  it("is told by the cause, and what it costs", async () => {
    const { gateway, say } = await gatewayWith(true, [{}]);
    const messages = [{ role: "user", content: "Hi" }];
    const longer = [
      ...messages,
      { role: "assistant", content: "Yes." },
      { role: "user", content: "?" },
    ];
    const at = (time: string) => `Now: ${time}. You help.`;
    await say({ system: at("10:00:01"), messages });
    await say({ system: at("10:00:15"), messages: longer });
    const breaks = 'manx_gateway_cache_breaks_total{model="smart",cause=';
    expect(await metric(gateway, `${breaks}"time_stamp"}`)).toBe(1);
    // The tools could still be had: two of some 2,460 characters.
    const cacheable = 'manx_gateway_cacheable_tokens_total{model="smart"}';
    expect(await metric(gateway, cacheable)).toBeGreaterThan(1_200);
    // What the gateway puts in order is no break.
    await say({ system: at("10:00:15"), messages: longer, tools: [tool("x"), tool("y")] });
    expect(await metric(gateway, `${breaks}"tools_reordered"}`)).toBe(0);
  });
});
