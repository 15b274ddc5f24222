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
  const hit = upstream.hits[0]!;
  // The first write is the head, the last the end.
  const delaysMs = made.arrived.map(({ atMs }, i) => atMs - hit.writtenMs[i + 1]!);
  return { delaysMs, headers, made, parts, gateway, asked: hit.headers };
}

/**
 * Measured from when the upstream wrote each event: its own timers are late on a busy machine. One event may be late
 * there too; a gateway that gathers is late by hundreds of milliseconds with all but the last.
 */
function expectPaced(delaysMs: readonly number[]): void {
  expect(delaysMs).toHaveLength(EVENTS.length);
  const sorted = [...delaysMs].sort((a, b) => a - b);
  expect(sorted[2]).toBeLessThan(15);
}

describe("casebook GW-14", () => {
  it("forwards events as they come, with headers that keep proxies from gathering them", async () => {
    const { delaysMs, headers, made } = await gapsMs(false);
    expectPaced(delaysMs);
    expect(made.text()).toBe(EVENTS.join(""));
    expect(headers).toMatchObject({
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(headers["content-length"]).toBeUndefined();
    expect(headers["content-encoding"]).toBeUndefined();
  });

  it("passes gzipped events on as they come, byte for byte", async () => {
    const { delaysMs, headers, made, parts, gateway, asked } = await gapsMs(true);
    expectPaced(delaysMs);
    // The gateway asks for plain events, since it could not see a gzipped stream stall; this upstream does as it likes.
    expect(asked["accept-encoding"]).toBe("identity");
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
