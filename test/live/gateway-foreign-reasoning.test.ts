/** A conversation that changes its provider: the next one never sees reasoning that it would refuse. */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import {
  type Hit,
  json,
  type ReplayServer,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

async function server(script: (hit: Hit) => readonly Step[]): Promise<ReplayServer> {
  const started = await startReplayServer(script);
  onTestFinished(() => started.close());
  return started;
}

const user = { role: "user" as const, content: "And now?" };

/** What Anthropic does with a block that it has not signed. */
function strict({ body }: Hit): Step[] {
  const { messages } = JSON.parse(body) as { messages: { content: unknown }[] };
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const isForeign = blocks.some(
    ({ type, signature }) => type === "thinking" && signature !== "OWN",
  );
  if (isForeign) {
    const error = { type: "invalid_request_error", message: "Invalid `signature`" };
    return [{ bytes: json(400, { type: "error", error }) }];
  }
  const content = [{ type: "text", text: "Second." }];
  const message = { id: "msg_2", type: "message", role: "assistant", model: "b", content };
  const usage = { input_tokens: 5, output_tokens: 2 };
  return [{ bytes: json(200, { ...message, stop_reason: "end_turn", usage }) }];
}

describe("reasoning of the provider before", () => {
  it("does not reach the one that takes over, though nothing needs translation there", async () => {
    let isDown = false;
    const first = await server(() => {
      if (isDown) return [{ bytes: json(503, { error: { message: "down" } }) }];
      const message = { role: "assistant", content: "First.", reasoning_content: "hm" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
      return [{ bytes: json(200, { id: "c", object: "chat.completion", choices, usage }) }];
    });
    const second = await server(strict);
    const { gateway } = await configuredGateway({
      upstreams: [
        { name: "a", url: first.url, format: "openai" },
        { name: "b", url: second.url, format: "anthropic" },
      ],
      models: [
        {
          name: "m",
          targets: [
            { upstream: "a", order: 0 },
            { upstream: "b", model: "claude", order: 1 },
          ],
        },
      ],
    });
    const client = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
    const body = { model: "m", max_tokens: 100 };
    const before = await client.messages.create({ ...body, messages: [user] });
    expect(before.content[0]).toMatchObject({ type: "thinking", signature: "" });
    isDown = true;
    const messages = [user, { role: before.role, content: before.content }, user];
    const after = await client.messages.create({ ...body, messages });
    expect(after.content).toMatchObject([{ type: "text", text: "Second." }]);
    const sent = JSON.parse(second.hits.at(-1)!.body) as object;
    const kept = { role: "assistant", content: [{ type: "text", text: "First." }] };
    expect(sent).toMatchObject({ model: "claude", messages: [user, kept, user] });
  });

  it.each([
    ["openai", "responses", "manx.anthropic.signature:S"],
    ["anthropic", "messages", "manx.openai.encrypted:E"],
  ])("is known to %s's API by its seal", async (format, path, seal) => {
    const upstream = await server(() => [{ bytes: json(200, { ok: true }) }]);
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "u", url: upstream.url, format }],
    });
    const thinking = { type: "thinking", thinking: "hm", signature: seal };
    const item = { type: "reasoning", summary: [], encrypted_content: seal };
    const said = { role: "assistant", content: [thinking, { type: "text", text: "Hm." }] };
    const body = JSON.stringify({ model: "m", messages: [said, user], input: [item, user] });
    expect((await answer(`${gateway.url}/v1/${path}`, { body })).status).toBe(200);
    const sent = JSON.parse(upstream.hits[0]!.body) as { messages: unknown; input: unknown };
    if (path === "responses") expect(sent.input).toEqual([user]);
    else expect(sent.messages).toEqual([{ ...said, content: [said.content[1]] }, user]);
  });

  it("leaves a body alone that has none of it, byte for byte, and all bodies for upstreams of any format", async () => {
    const upstream = await server(() => [{ bytes: json(200, { ok: true }) }]);
    const own = { type: "thinking", thinking: "hm", signature: "OWN" };
    const foreign = { type: "thinking", thinking: "hm", signature: "" };
    const bodyOf = (block: object, text: string): string =>
      `{ "model":"m", "n":1.0, "messages":${JSON.stringify([
        { role: "assistant", content: [block] },
        { role: "user", content: text },
      ])} }`;
    for (const [format, body] of [
      ["anthropic", bodyOf(own, "plain")],
      // Words that look like it are parsed, and then left alone.
      ["anthropic", bodyOf(own, '"manx.')],
      ["any", bodyOf(foreign, "plain")],
    ]) {
      const { gateway } = await configuredGateway({
        upstreams: [{ name: "u", url: upstream.url, format }],
      });
      await answer(`${gateway.url}/v1/messages`, { body: body! });
      expect(upstream.hits.at(-1)!.body).toBe(body);
    }
  });
});

describe("tools that only the caller's provider knows", () => {
  it.each([
    ["refuse", 400],
    ["drop", 200],
  ])("are treated as the upstream's hostedTools: %s says", async (hostedTools, status) => {
    const choices = [{ index: 0, message: { content: "Hm." }, finish_reason: "stop" }];
    const upstream = await server(() => [{ bytes: json(200, { id: "c", choices }) }]);
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "u", url: upstream.url, hostedTools }],
    });
    const tools = [
      { type: "web_search_20250305", name: "web_search" },
      { name: "get", input_schema: { type: "object" } },
    ];
    const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [user], tools });
    expect((await answer(`${gateway.url}/v1/messages`, { body })).status).toBe(status);
    if (status !== 200) return;
    const sent = JSON.parse(upstream.hits[0]!.body) as { tools: { function: object }[] };
    expect(sent.tools.map((tool) => tool.function)).toMatchObject([{ name: "get" }]);
  });
});
