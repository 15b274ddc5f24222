/**
 * GW-13, the client hangs up: before the first token, in mid-stream, on a non-streaming call. The upstream must learn it at
 * once in all three; nobody's error. (Retry sleeps and hedges do not exist yet.)
 */
import { describe, expect, it } from "vitest";
import { call } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import { chatText, chunk, EVENT_STREAM_HEAD, type Step, sleep } from "../support/replay-server.ts";

/** First token after 500 ms, then 100 in 2 s. */
const slowStream: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  { afterMs: 480 },
  ...Array.from({ length: 100 }, (_, i) => ({ afterMs: 20, bytes: chunk(chatText(`t${i} `)) })),
];

const CASES: [string, Step[], string, number, number][] = [
  ["before the first token", slowStream, '{"stream":true}', 200, 200],
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
});
