/** Bodies that can be skipped over but not read, where the gateway has to read them: to choose a replica, to translate. */
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { startConfigured } from "../../src/gateway/index.ts";
import { simpleConfig } from "../../src/gateway/simple-config.ts";
import { wholeAnswer } from "../support/fault-wire.ts";
import { answer } from "../support/http-call.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

/** A target that fails, then replicas chosen by prefix; replicas alone; an upstream of another format. */
async function start() {
  const failing = await startReplayServer(() => [{ bytes: json(500, {}) }]);
  const good = await startReplayServer(() => [{ bytes: json(200, {}) }]);
  const base = simpleConfig({ upstream: failing.url, preconnect: 0 });
  const [first] = base.upstreams;
  const replicas = { ...first!, name: "replicas", urls: [good.url, good.url], router: "prefix" };
  const foreign = { ...first!, name: "foreign", urls: [good.url], format: "anthropic" };
  const to = (...upstreams: string[]) =>
    upstreams.map((upstream, order) => ({ upstream, model: null, weight: 1, order }));
  const gateway = await startConfigured({
    ...base,
    upstreams: [first!, replicas as typeof first & object, foreign as typeof first & object],
    models: [
      { name: "second", policy: "default", cacheMarks: null, targets: to("upstream", "replicas") },
      { name: "alone", policy: "default", cacheMarks: null, targets: to("replicas") },
      { name: "foreign", policy: "default", cacheMarks: null, targets: to("foreign") },
    ],
  });
  onTestFinished(async () => {
    await gateway.close();
    await Promise.all([failing.close(), good.close()]);
  });
  return gateway;
}

describe("a body that is not JSON below its top level", () => {
  // As the second target it was read in the middle of another attempt's end, and the call hung.
  it.each(["alone", "second", "foreign"])("is told as 400 by %s", async (model) => {
    const gateway = await start();
    const made = await answer(`${gateway.url}/v1/chat/completions`, {
      body: `{"model":"${model}","a": tru}`,
    });
    expect([made.status, JSON.parse(made.text).error.code]).toEqual([400, "MANX_REQUEST_INVALID"]);
    expect(gateway.inFlight()).toBe(0);
  });
});

describe("a body that is nested 100,000 deep", () => {
  const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  const tools = `[{"type":"function","function":{"name":"x","parameters":${deep}}}]`;

  it("is borne by the choice of a replica", async () => {
    const gateway = await start();
    const body = `{"model":"alone","messages":[${deep}]}`;
    expect((await answer(`${gateway.url}/v1/chat/completions`, { body })).status).toBe(200);
  });

  it("is told as 400 where it would have to be written anew", async () => {
    const gateway = await start();
    const body = `{"model":"foreign","messages":[{"role":"user","content":"hi"}],"tools":${tools}}`;
    const made = await answer(`${gateway.url}/v1/chat/completions`, { body });
    expect([made.status, JSON.parse(made.text).error.code]).toEqual([400, "MANX_REQUEST_INVALID"]);
    expect(made.text).toContain("nested too deeply");
  });
});

/** What stands in a request of either API where something sensible should. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, -0, 1e308, 2 ** 53, "", "\ud83d", "\u0000", "__proto__", [], {}, [[]], [null]],
    ...[JSON.parse('{"__proto__":{"role":"system"}}'), JSON.parse('{"constructor":{"x":1}}')],
    ...[
      { type: "text" },
      { type: "image_url", image_url: 5 },
      { role: "user" },
      "a".repeat(70_000),
    ],
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

const REQUESTS = {
  "chat/completions": {
    model: "foreign",
    stream: false,
    max_tokens: 5,
    temperature: 1,
    stop: ["x"],
    tool_choice: "auto",
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    messages: [
      { role: "system", content: "s" },
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "r" },
    ],
  },
  messages: {
    model: "chat",
    stream: false,
    max_tokens: 5,
    system: [{ type: "text", text: "s" }],
    tool_choice: { type: "auto" },
    tools: [{ name: "f", input_schema: { type: "object" } }],
    thinking: { type: "enabled", budget_tokens: 1_024 },
    messages: [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "r" }] },
    ],
  },
} as const;

/** All places of a value, as ways of keys. */
function places(value: unknown, way: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [way];
  return [way, ...Object.entries(value).flatMap(([key, one]) => places(one, [...way, key]))];
}

/** A copy with another value at one place. */
function withAt(value: unknown, [key, ...rest]: readonly string[], other: unknown): unknown {
  if (key === undefined) return other;
  const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value);
  copy[key] = withAt(copy[key], rest, other);
  return copy;
}

describe("a request with something odd in one place", () => {
  it.each(["chat/completions", "messages"] as const)(
    "to %s is translated or told as 400, and never this gateway's own fault",
    async (route) => {
      const whole = {
        "chat/completions": wholeAnswer("anthropic"),
        messages: wholeAnswer("openai"),
      };
      const server = await startReplayServer(() => [{ bytes: json(200, whole[route]) }]);
      const base = simpleConfig({ upstream: server.url, preconnect: 0 });
      const format = route === "messages" ? "openai" : "anthropic";
      const gateway = await startConfigured({
        ...base,
        upstreams: base.upstreams.map((one) => ({ ...one, format })),
      });
      onTestFinished(async () => {
        await gateway.close();
        await server.close();
      });
      const request: object = REQUESTS[route];
      const ways = places(request).filter((way) => way.length > 0 && way[0] !== "stream");
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...ways), hostile, async (way, other) => {
          const body = JSON.stringify(withAt(request, way, other));
          const made = await answer(`${gateway.url}/v1/${route}`, { body });
          seen.add(made.status);
          expect([200, 400], made.text).toContain(made.status);
        }),
        { numRuns: 400 },
      );
      expect(seen).toEqual(new Set([200, 400]));
      expect(gateway.inFlight()).toBe(0);
    },
  );
});
