import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { sampleRecord } from "../../../test/support/sample-record.ts";
import { realClock, type SimClock } from "../../clock/index.ts";
import type { ManxError } from "../../core/index.ts";
import type { CallRecord } from "./call-record.ts";
import { type TraceCounts, TraceExporter } from "./trace-exporter.ts";

interface Export {
  readonly headers: IncomingMessage["headers"];
  readonly names: readonly string[];
}

/** @param answer what it says to the n-th export, from 0. */
async function collector(answer: (n: number, response: ServerResponse) => void) {
  const exports: Export[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(gunzipSync(Buffer.concat(parts)).toString());
      const { spans } = resourceSpans[0].scopeSpans[0];
      const names = spans.map(({ name }: { name: string }) => name);
      exports.push({ headers: request.headers, names });
      answer(exports.length - 1, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { exports, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function exporter(url: string, options: { clock?: SimClock; share?: number } = {}) {
  const counts: TraceCounts = { sent: 0, dropped: 0, rejected: 0 };
  const faults: ManxError[] = [];
  const made = new TraceExporter({
    config: { url, headers: {}, share: options.share ?? 1, slowUs: 1_000_000, names: "current" },
    clock: options.clock ?? realClock,
    counts,
    instance: "test",
    onFault: (error) => faults.push(error),
  });
  return { made, counts, faults };
}

const ok = (_: number, response: ServerResponse): unknown => response.end("{}");

function call(changes: Partial<CallRecord> & { isSampled?: boolean } = {}): CallRecord {
  const record = sampleRecord(changes);
  return { ...record, trace: { ...record.trace!, isSampled: changes.isSampled ?? true } };
}

describe("TraceExporter", () => {
  it("sends what waits in one request, also when it is closed", async () => {
    const { exports, url } = await collector(ok);
    const { made, counts } = exporter(url);
    for (let i = 0; i < 40; i += 1) made.callEnds(call());
    await made.close();
    expect(exports).toHaveLength(1);
    expect(exports[0]!.names.filter((name) => name === "chat smart")).toHaveLength(40);
    expect(exports[0]!.headers["content-type"]).toBe("application/json");
    expect(counts).toEqual({ sent: 40, dropped: 0, rejected: 0 });
  });

  it("keeps what is sampled, and always what failed, stalled or was slow", async () => {
    const { url } = await collector(ok);
    const { made, counts } = exporter(url);
    const figures = sampleRecord().stream!;
    const kept = [
      call(),
      call({ isSampled: false, outcome: "upstream_down" }),
      call({ isSampled: false, contentUs: 2_000_001, endedUs: 2_100_000 }),
      call({ isSampled: false, isStream: false, endedUs: 2_000_001 }),
      call({ isSampled: false, stream: { ...figures, stalls: { ...figures.stalls, count: 1 } } }),
      // Whoever leaves after a long silence has left because of it.
      call({ isSampled: false, outcome: "client_cancelled", contentUs: undefined, endedUs: 9e6 }),
    ];
    const left = [
      call({ isSampled: false }),
      call({ isSampled: false, outcome: "client_cancelled" }),
      call({ isSampled: false, outcome: "refused" }),
      call({ isSampled: false, endedUs: 60_000_000 }),
      sampleRecord({ trace: undefined }),
    ];
    for (const one of [...kept, ...left]) made.callEnds(one);
    await made.close();
    expect(counts.sent).toBe(kept.length);
  });

  it("tries again what may be tried again, and counts what the collector refused of a batch", async () => {
    const { exports, url } = await collector((n, response) => {
      if (n === 0) response.writeHead(503, { "retry-after": "0.01" }).end();
      else response.end(JSON.stringify({ partialSuccess: { rejectedSpans: "1" } }));
    });
    const { made, counts, faults } = exporter(url);
    for (let i = 0; i < 256; i += 1) made.callEnds(call());
    while (exports.length < 2) await realClock.sleepUntil(realClock.nowUs() + 5_000);
    await made.close();
    expect(counts).toEqual({ sent: 255, dropped: 0, rejected: 1 });
    expect(faults.map(({ code }) => code)).toEqual(["MANX_TRACES_UNSENT"]);
  });

  it("gives up what the collector will never take, and says so once", async () => {
    const { exports, url } = await collector((_, response) => response.writeHead(400).end());
    const { made, counts, faults } = exporter(url);
    for (let i = 0; i < 600; i += 1) made.callEnds(call());
    while (exports.length < 2) await realClock.sleepUntil(realClock.nowUs() + 5_000);
    await made.close();
    expect(counts).toEqual({ sent: 0, dropped: 600, rejected: 0 });
    expect(faults).toHaveLength(1);
    expect(faults[0]!.got).toBe("status 400");
  });

  it("holds a bounded number of calls while the collector is silent, and closes without it", async () => {
    const { url } = await collector(() => undefined);
    const { made, counts } = exporter(url);
    for (let i = 0; i < 5_000; i += 1) made.callEnds(call());
    expect(counts.dropped).toBeGreaterThanOrEqual(5_000 - 4_096 - 256);
    await made.close();
    expect(counts).toEqual({ sent: 0, dropped: 5_000, rejected: 0 });
  });
});
