/**
 * GW-15, `write()` returned false: a client that reads slowly holds the upstream back and nothing else. 64 MiB in frames of
 * 64 KiB, offered as fast as they are taken.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { call } from "../support/http-call.ts";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import {
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
  type Step,
  sleep,
} from "../support/replay-server.ts";

const FRAME_BYTES = 64 * 1024;
const FRAMES = 1_024;
const frames = Array.from({ length: FRAMES }, (_, i) => {
  const text = `${i}:`.padEnd(FRAME_BYTES, String.fromCharCode(97 + (i % 26)));
  return chatText(text, i === FRAMES - 1 ? "stop" : null);
});
const script: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  ...frames.map((frame) => ({ bytes: chunk(frame) })),
  { bytes: chunk("data: [DONE]\n\n") },
  { bytes: LAST_CHUNK },
];
const wanted = createHash("sha256")
  .update(frames.join(""))
  .update("data: [DONE]\n\n")
  .digest("hex");

/** The kernel's own buffers, on both connections, take some megabytes; the rest must wait at the upstream. */
const SENT_BYTES_MAX = 32 * 1024 * 1024;

describe("casebook GW-15", () => {
  it("holds the upstream back while the client does not read, and then delivers every byte once", async () => {
    let sentBytes = 0;
    const counted = script.map((step) => ({
      ...step,
      get bytes() {
        sentBytes += step.bytes?.length ?? 0;
        return step.bytes!;
      },
    }));
    // A limit on gaps far below the pause: silence that the client causes is not the upstream's.
    const { chatUrl, gateway } = await liveGateway(() => counted, {
      timeouts: { lifeGapUs: 500_000, progressGapUs: 500_000 },
    });
    global.gc?.();
    const rssBefore = process.memoryUsage().rss;
    const made = call(chatUrl, { paused: true });
    const response = await made.head;
    await sleep(2_000);
    expect(made.arrived.length).toBeLessThanOrEqual(1);
    // `bytes` is read twice for each step: once to look, once to write.
    expect(sentBytes / 2).toBeLessThan(SENT_BYTES_MAX);
    // Server, gateway and client share this process; what none may do is to hold 64 MiB.
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(48 * 1024 * 1024);
    response.resume();
    expect((await made.ended).clean).toBe(true);
    const hash = createHash("sha256");
    for (const { bytes } of made.arrived) hash.update(bytes);
    expect(hash.digest("hex")).toBe(wanted);
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 200, outcome: "ok" })).toBe(1);
  });

  it("cancels the upstream when the client leaves while it is held back", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => script);
    const made = call(chatUrl, { paused: true });
    await made.head;
    await sleep(300);
    const leftMs = performance.now();
    made.abort();
    expect((await upstream.hits[0]!.closed) - leftMs).toBeLessThan(250);
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 200, outcome: "client_cancelled" })).toBe(1);
  });

  it("ends a client that never reads and never leaves", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => script, {
      limits: { writeUs: 400_000 },
    });
    const made = call(chatUrl, { paused: true });
    await made.head;
    await upstream.hits[0]!.closed;
    await until(() => gateway.inFlight() === 0);
    expect(await requests(gateway, { status: 200, outcome: "client_stalled" })).toBe(1);
    made.abort();
  });
});
