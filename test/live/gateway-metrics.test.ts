/** What /metrics says of streams whose truth is known. */
import { describe, expect, it } from "vitest";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
  type Step,
  sleep,
} from "../support/replay-server.ts";

const CHAT = '{route="chat/completions"}';

function stream(...parts: [afterMs: number, text: string][]): Step[] {
  return [
    { bytes: EVENT_STREAM_HEAD },
    ...parts.map(([afterMs, text]) => ({ afterMs, bytes: chunk(text) })),
    { bytes: LAST_CHUNK },
  ];
}

const end: [number, string] = [0, chatText("", "stop") + CHAT_DONE];

describe("stream metrics", () => {
  it("count TTFT to the first output, not to the head, a role or a comment", async () => {
    const role = chatText("");
    const { chatUrl, gateway } = await liveGateway(() =>
      stream([0, `: wait\n\n${role}`], [200, chatText("a")], [50, chatText("b")], end),
    );
    const sentMs = performance.now();
    const made = call(chatUrl);
    await made.ended;
    await until(() => gateway.inFlight() === 0);
    const seen = made.arrived.find(({ bytes }) => bytes.includes('"a"'));
    const ttftS = await metric(gateway, `manx_gateway_ttft_seconds_sum${CHAT}`);
    expect(ttftS).toBeGreaterThanOrEqual(0.2);
    expect(ttftS).toBeLessThan((seen!.atMs - sentMs) / 1_000);
    const ttfbS = await metric(gateway, `manx_gateway_ttfb_seconds_sum${CHAT}`);
    expect(ttfbS).toBeLessThan(ttftS - 0.1);
    expect(await metric(gateway, `manx_gateway_itl_seconds_count${CHAT}`)).toBe(1);
    expect(await metric(gateway, `manx_gateway_stalls_total${CHAT}`)).toBe(0);
  });

  it("show what is under way at an upstream, and its TTFB, before the answer has ended", async () => {
    const { chatUrl, gateway } = await liveGateway(() => [
      { bytes: EVENT_STREAM_HEAD + chunk(chatText("a")).toString() },
      { afterMs: 400, bytes: chunk(chatText("", "stop") + CHAT_DONE) + LAST_CHUNK },
    ]);
    const made = call(chatUrl);
    await made.head;
    expect(await metric(gateway, "manx_gateway_upstream_in_flight")).toBe(1);
    expect(await metric(gateway, `manx_gateway_ttfb_seconds_count${CHAT}`)).toBe(1);
    expect(await metric(gateway, `manx_gateway_e2e_seconds_count${CHAT}`)).toBe(0);
    await made.ended;
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, "manx_gateway_upstream_in_flight")).toBe(0);
    expect(await metric(gateway, `manx_gateway_ttfb_seconds_count${CHAT}`)).toBe(1);
  });

  it("leave out what a caller has marked as warm-up, and count it apart", async () => {
    const { chatUrl, gateway } = await liveGateway(() => stream([0, chatText("a")], end));
    await answer(chatUrl, { headers: { "x-manx-purpose": "warm-up" } });
    await answer(chatUrl);
    await until(() => gateway.inFlight() === 0);
    for (const name of ["ttft_seconds_count", "ttfb_seconds_count", "e2e_seconds_count"]) {
      expect([name, await metric(gateway, `manx_gateway_${name}${CHAT}`)]).toEqual([name, 1]);
    }
    expect(await metric(gateway, `manx_gateway_warm_up_requests_total${CHAT}`)).toBe(1);
    expect(await metric(gateway, "manx_gateway_warm_up_ignored_total")).toBe(0);
  });

  it("keep what a caller from elsewhere has marked as warm-up, and count the mark", async () => {
    const { chatUrl, gateway } = await liveGateway(() => stream([0, chatText("a")], end));
    const headers = { "x-manx-purpose": "warm-up", "x-forwarded-for": "192.0.2.7" };
    await answer(chatUrl, { headers });
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, `manx_gateway_ttft_seconds_count${CHAT}`)).toBe(1);
    expect(await requests(gateway, { status: 200, outcome: "ok" })).toBe(1);
    expect(await metric(gateway, "manx_gateway_warm_up_requests_total")).toBe(0);
    expect(await metric(gateway, "manx_gateway_warm_up_ignored_total")).toBe(1);
  });

  it("see a pause of the upstream as a stall", async () => {
    const { chatUrl, gateway } = await liveGateway(() =>
      stream([0, chatText("a")], [1_150, chatText("b")], end),
    );
    await answer(chatUrl);
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, `manx_gateway_stalls_total${CHAT}`)).toBe(1);
    expect(await metric(gateway, `manx_gateway_stalled_streams_total${CHAT}`)).toBe(1);
    expect(await metric(gateway, `manx_gateway_stalled_seconds_total${CHAT}`)).toBeGreaterThan(1.1);
  });

  it("do not blame the upstream for a pause of the client (GW-15)", async () => {
    const large = Array.from({ length: 64 }, (): [number, string] => [
      0,
      chatText("x".repeat(2 ** 18)),
    ]);
    const { chatUrl, gateway } = await liveGateway(() => stream(...large, end));
    const made = call(chatUrl, { paused: true });
    const response = await made.head;
    const startMs = performance.now();
    await sleep(1_300);
    response.resume();
    expect((await made.ended).clean).toBe(true);
    const elapsedS = (performance.now() - startMs) / 1_000;
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, `manx_gateway_itl_seconds_count${CHAT}`)).toBe(63);
    expect(await metric(gateway, `manx_gateway_stalls_total${CHAT}`)).toBe(0);
    // Had the pause counted, the gaps would add up to the whole time.
    expect(await metric(gateway, `manx_gateway_itl_seconds_sum${CHAT}`)).toBeLessThan(elapsedS - 1);
  });

  it("count a frame that cannot be read, and read on", async () => {
    const { chatUrl, gateway } = await liveGateway(() =>
      stream([0, chatText("a")], [5, "data: {broken\n\n"], [5, chatText("b")], end),
    );
    expect((await answer(chatUrl)).clean).toBe(true);
    await until(() => gateway.inFlight() === 0);
    expect(await metric(gateway, 'manx_gateway_unread_streams_total{reason="faulty"}')).toBe(1);
    expect(await metric(gateway, `manx_gateway_itl_seconds_count${CHAT}`)).toBe(1);
  });
});
