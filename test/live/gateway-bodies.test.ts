/** Bodies that can be skipped over but not read, where the gateway has to read them: to choose a replica, to translate. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startConfigured } from "../../src/gateway/index.ts";
import { simpleConfig } from "../../src/gateway/simple-config.ts";
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
  const deep = '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000);
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
