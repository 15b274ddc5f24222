/**
 * GW-13, the client hangs up: before the first token, in mid-stream, on a non-streaming call, during the pause before a
 * retry, while a hedge runs. The upstream must learn it at once in all five; nobody's error.
 */
import { describe, expect, it } from "vitest";
import { CALL_POLICY, HEDGE_POLICY } from "../../src/policy/index.ts";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  json,
  LAST_CHUNK,
  type Step,
  sleep,
} from "../support/replay-server.ts";

/** First token after 500 ms, then 100 in 2 s. */
const slowStream: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  { afterMs: 480 },
  ...Array.from({ length: 100 }, (_, i) => ({ afterMs: 20, bytes: chunk(chatText(`t${i} `)) })),
];

const CASES: [string, Step[], string, number, number][] = [
  ["before the first token", slowStream, '{"stream":true}', 200, 0],
  ["in mid-stream", slowStream, '{"stream":true}', 900, 200],
  ["on a non-streaming call", [], '{"stream":false}', 300, 0],
];

describe("casebook GW-13", () => {
  it.each(CASES)("closes the upstream at once when the client leaves %s", async (...row) => {
    const [, script, body, leaveAfterMs, status] = row;
    const { chatUrl, upstream, gateway } = await liveGateway(() => script);
    const made = call(chatUrl, { body });
    const hit = await upstream.hit(1);
    await sleep(leaveAfterMs);
    expect(await metric(gateway, "manx_gateway_in_flight")).toBe(1);
    const leftMs = performance.now();
    made.abort();
    const closedAfterMs = (await hit.closed) - leftMs;
    // 1 to 2 ms are usual, and the book allows 100; here other tests run on the same two cores.
    expect(closedAfterMs).toBeLessThan(250);
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, "manx_gateway_in_flight")).toBe(0);
    expect(await requests(gateway, { status, outcome: "client_cancelled" })).toBe(1);
    // The connection was given up, not given back; and no attempt follows.
    expect(gateway.connections().open).toBe(gateway.connections().idle);
    expect(upstream.hits).toHaveLength(1);
  });

  it("begins no attempt after the client has left in the pause before it", async () => {
    const { chatUrl, upstream, gateway } = await liveGateway(() => [{ bytes: json(503, {}) }], {
      policy: { retry: { ...CALL_POLICY.retry, backoffBaseUs: 400_000 } },
    });
    const made = call(chatUrl);
    await upstream.hit(1);
    await sleep(60);
    made.abort();
    await until(() => gateway.inFlight() === 0);
    await sleep(500);
    expect(upstream.hits).toHaveLength(1);
    expect(await requests(gateway, { status: 0, outcome: "client_cancelled" })).toBe(1);
  });

  it("closes both attempts when the client leaves while a hedge runs", async () => {
    const quick = [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("a", "stop")) }];
    let isSlow = false;
    const hedge = { ...HEDGE_POLICY, floorUs: 40_000, share: 1 };
    const { chatUrl, upstream, gateway } = await liveGateway(
      () => (isSlow ? slowStream : [...quick, { bytes: chunk(CHAT_DONE) }, { bytes: LAST_CHUNK }]),
      { policy: { hedge } },
    );
    const body = '{"stream":true}';
    for (let i = 0; i < 25; i += 1) await answer(chatUrl, { body });
    isSlow = true;
    const made = call(chatUrl, { body });
    const hits = await Promise.all([upstream.hit(26), upstream.hit(27)]);
    const leftMs = performance.now();
    made.abort();
    for (const hit of hits) expect((await hit.closed) - leftMs).toBeLessThan(400);
    await until(() => gateway.inFlight() === 0);
    expect(gateway.connections().open).toBe(gateway.connections().idle);
  });
});
