/** Who may mark calls as warm-up, and so keep them out of every percentile. */
import { describe, expect, it, onTestFinished } from "vitest";
import { secretBytes } from "../../src/clock/index.ts";
import { newKey } from "../../src/gateway/keys/index.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

const BODY = JSON.stringify({ model: "m", messages: [] });
/** As a proxy on this machine says it. */
const FROM_ELSEWHERE = { "x-manx-purpose": "warm-up", "x-forwarded-for": "192.0.2.7" };

async function gatewayWith(more: object) {
  const upstream = await startReplayServer(() => [{ bytes: json(200, { ok: true }) }]);
  onTestFinished(() => upstream.close());
  const { gateway } = await configuredGateway({
    upstreams: [{ name: "one", url: upstream.url }],
    ...more,
  });
  const of = (series: string): Promise<number> => metric(gateway, `manx_gateway_${series}`);
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const { status } = await answer(`${gateway.url}/v1/chat/completions`, { body: BODY, headers });
    await until(() => gateway.inFlight() === 0);
    return status;
  };
  return { ask, of };
}

function keyWith(more: object) {
  const { key, id, hash } = newKey(secretBytes);
  return { header: { authorization: `Bearer ${key}` }, record: { id, hash, ...more } };
}

describe("a mark of warm-up", () => {
  it("counts with a key that may, and with no other", async () => {
    const [may, mayNot] = [keyWith({ warmUp: true }), keyWith({})];
    const keys = { source: "inline", keys: [may.record, mayNot.record] };
    const { ask, of } = await gatewayWith({ keys });
    expect(await ask({ ...FROM_ELSEWHERE, ...may.header })).toBe(200);
    expect([await of("warm_up_requests_total"), await of("requests_total")]).toEqual([1, 0]);
    expect(await ask({ ...FROM_ELSEWHERE, ...mayNot.header })).toBe(200);
    expect([await of("warm_up_requests_total"), await of("requests_total")]).toEqual([1, 1]);
    expect(await of("warm_up_ignored_total")).toBe(1);
  });

  it("hides no refusal of a caller without a key", async () => {
    const keys = { source: "inline", keys: [keyWith({}).record] };
    const { ask, of } = await gatewayWith({ keys });
    expect(await ask({ "x-manx-purpose": "warm-up" })).toBe(401);
    expect(await of('refused_total{reason="unauthenticated"}')).toBe(1);
    expect(await of("warm_up_requests_total")).toBe(0);
  });

  it("counts from everywhere where the configuration says so", async () => {
    const { ask, of } = await gatewayWith({ warmUpFrom: "anyone" });
    await ask(FROM_ELSEWHERE);
    expect([await of("warm_up_requests_total"), await of("warm_up_ignored_total")]).toEqual([1, 0]);
  });
});
