/**
 * GW-11, the hidden 300 s of undici: whatever limit is configured is the one that acts, with an error that names the phase
 * and the limit; none below it exists anywhere. At a scale of 1 : 200.
 */
import { describe, expect, it } from "vitest";
import { call } from "../support/http-call.ts";
import { liveGateway, requests } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
} from "../support/replay-server.ts";

const LIMIT_MS = 1_500;
const timeouts = timeoutsOf(LIMIT_MS * 1_000);
/** Where a call must pass, the busy machine's own delays must not count; `AttemptClock` has its exact tests in virtual time. */
const amply = timeoutsOf(4 * LIMIT_MS * 1_000);
const first = chunk(chatText("Hello"));
const rest = [chunk(chatText("", "stop")), chunk(CHAT_DONE), LAST_CHUNK];

type OnFinished = (close: () => Promise<void>) => void;

function timeoutsOf(us: number) {
  const gaps = { lifeGapUs: us, progressGapUs: us, thinkingGapUs: us };
  return { headersUs: us, firstContentUs: us, ...gaps };
}

async function run(headMs: number, gapMs: number, onFinished: OnFinished, under = timeouts) {
  const live = await liveGateway(
    () => [
      { afterMs: headMs, bytes: EVENT_STREAM_HEAD },
      { bytes: first },
      { afterMs: gapMs, bytes: rest[0]! },
      { bytes: rest[1]! },
      { bytes: rest[2]! },
    ],
    { timeouts: under },
    onFinished,
  );
  const sentMs = performance.now();
  const made = call(live.chatUrl);
  const response = await made.head;
  const { clean, atMs } = await made.ended;
  return { ...live, made, sentMs, status: response.statusCode, clean, atMs };
}

describe.concurrent("casebook GW-11", () => {
  it("lets a head after 1,200 ms and a gap of 1,200 ms pass under limits above them", async ({
    onTestFinished,
  }) => {
    const slowHead = run(1_200, 0, onTestFinished, amply);
    const slowGap = run(0, 1_200, onTestFinished, amply);
    for (const { made, status, clean } of await Promise.all([slowHead, slowGap])) {
      expect([status, clean, made.text().endsWith(CHAT_DONE)]).toEqual([200, true, true]);
    }
  });

  it("ends a call without head at the limit, with a 504 that names phase and limit", async ({
    onTestFinished,
  }) => {
    const { made, sentMs, status, atMs, gateway, upstream } = await run(1_800, 0, onTestFinished);
    const waitedMs = atMs - sentMs;
    expect(waitedMs).toBeGreaterThanOrEqual(LIMIT_MS);
    expect(waitedMs).toBeLessThan(LIMIT_MS + 500);
    expect(status).toBe(504);
    expect(JSON.parse(made.text())).toMatchObject({
      error: {
        code: "MANX_UPSTREAM_TIMEOUT",
        message: expect.stringMatching(/"headers".*1\.50 s/),
      },
    });
    expect(await requests(gateway, { status: 504, outcome: "timeout_headers" })).toBe(1);
    // And the upstream is not left to generate for nobody.
    expect((await upstream.hits[0]!.closed) - atMs).toBeLessThan(500);
  });

  it("ends a silent stream at the limit, with an error event that names phase and limit", async ({
    onTestFinished,
  }) => {
    const { made, status, atMs, gateway } = await run(0, 1_800, onTestFinished);
    const waitedMs = atMs - made.arrived[0]!.atMs;
    expect(waitedMs).toBeGreaterThanOrEqual(LIMIT_MS - 20);
    expect(waitedMs).toBeLessThan(LIMIT_MS + 500);
    expect(status).toBe(200);
    const events = made
      .text()
      .split("\n\n")
      .filter((event) => event.trim() !== "");
    expect(events).toHaveLength(2);
    expect(JSON.parse(events[1]!.trim().slice("data: ".length))).toMatchObject({
      error: { code: "MANX_UPSTREAM_TIMEOUT", message: expect.stringMatching(/"gap".*1\.50 s/) },
    });
    expect(await requests(gateway, { status: 200, outcome: "timeout_gap" })).toBe(1);
  });

  it("shows every limit in effect", async ({ onTestFinished }) => {
    const { gateway } = await liveGateway(() => [], { timeouts }, onTestFinished);
    const shown = (await (await fetch(`${gateway.url}/health?verbose`)).json()) as object;
    expect(shown).toMatchObject({
      limits: {
        writeUs: 120_000_000,
        timeouts: { default: { connectUs: 10_000_000, ...timeouts } },
      },
    });
    expect(gateway.limits).toMatchObject({ receiveUs: 300_000_000, writeUs: 120_000_000 });
  });
});
