/**
 * GW-14, compression or a proxy turns the stream into one lump: five small events 100 ms apart arrive 100 ms apart, in the
 * clear and gzipped by the upstream with a flush per event, and every proxy behind is told to leave them alone.
 */
import { constants, createGunzip, createGzip } from "node:zlib";
import { describe, expect, it } from "vitest";
import { call } from "../support/http-call.ts";
import { liveGateway, metric } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  LAST_CHUNK,
} from "../support/replay-server.ts";

const EVENTS = [...["a", "b", "c"].map((text) => chatText(text)), chatText("d", "stop"), CHAT_DONE];
const GAP_MS = 100;

/** Each event gzipped and flushed, as an upstream does that compresses and streams. */
async function gzipEach(events: readonly string[]): Promise<Buffer[]> {
  const gzip = createGzip();
  const parts: Buffer[] = [];
  for (const event of events) {
    gzip.write(event);
    await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
    const part = gzip.read() as Buffer | null;
    parts.push(part ?? Buffer.alloc(0));
  }
  return parts;
}

async function gapsMs(encoded: boolean) {
  const parts = encoded ? await gzipEach(EVENTS) : EVENTS.map((event) => Buffer.from(event));
  const opening = encoded
    ? head(200, {
        "content-type": "text/event-stream",
        "content-encoding": "gzip",
        "transfer-encoding": "chunked",
      })
    : EVENT_STREAM_HEAD;
  const { chatUrl, gateway, upstream } = await liveGateway(() => [
    { bytes: opening },
    ...parts.map((part, i) => ({ afterMs: i === 0 ? 0 : GAP_MS, bytes: chunk(part) })),
    { bytes: LAST_CHUNK },
  ]);
  const made = call(chatUrl, { headers: { "accept-encoding": "gzip, br" } });
  const { headers } = await made.head;
  await made.ended;
  const gaps = made.arrived.slice(1).map(({ atMs }, i) => atMs - made.arrived[i]!.atMs);
  return { gaps, headers, made, parts, gateway, asked: upstream.hits[0]!.headers };
}

/** A noisy machine may move one event; a gateway that gathers moves them all. */
function expectPaced(gaps: readonly number[]): void {
  expect(gaps).toHaveLength(EVENTS.length - 1);
  const sorted = [...gaps].sort((a, b) => a - b);
  expect(sorted[1]).toBeGreaterThan(GAP_MS - 15);
  expect(sorted[2]).toBeLessThan(GAP_MS + 15);
}

describe("casebook GW-14", () => {
  it("forwards events as they come, with headers that keep proxies from gathering them", async () => {
    const { gaps, headers, made } = await gapsMs(false);
    expectPaced(gaps);
    expect(made.text()).toBe(EVENTS.join(""));
    expect(headers).toMatchObject({
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(headers["content-length"]).toBeUndefined();
    expect(headers["content-encoding"]).toBeUndefined();
  });

  it("passes gzipped events on as they come, byte for byte", async () => {
    const { gaps, headers, made, parts, gateway, asked } = await gapsMs(true);
    expectPaced(gaps);
    expect(asked["accept-encoding"]).toBe("gzip, br");
    expect(headers["content-encoding"]).toBe("gzip");
    const bytes = Buffer.concat(made.arrived.map((each) => each.bytes));
    expect(bytes.equals(Buffer.concat(parts))).toBe(true);
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    let plain = "";
    gunzip.on("data", (part: Buffer) => (plain += part.toString("utf8")));
    gunzip.end(bytes);
    await new Promise((resolve) => gunzip.once("end", resolve));
    expect(plain).toBe(EVENTS.join(""));
    expect(await metric(gateway, 'manx_gateway_unread_streams_total{reason="encoded"}')).toBe(1);
  });
});
