import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { answer } from "../../test/support/http-call.ts";
import { liveGateway, until } from "../../test/support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
} from "../../test/support/replay-server.ts";
import { realClock } from "../clock/index.ts";
import type { BucketQuantile, TopRow, TopSnapshot } from "../gateway/seeing/index.ts";
import { drawTop } from "./gateway-top-view.ts";
import { makeProgram, runProgram } from "./program.ts";

const few: BucketQuantile = { valueS: 0.25, n: 100, beyond: 1 };
const many: BucketQuantile = { valueS: 0.03, n: 5_000, beyond: 50 };

const row: TopRow = {
  model: "smart",
  upstream: "openai",
  callsPerS: 12.34,
  ttftP50: many,
  ttftP99: few,
  itlP99: many,
  stalledShare: 0.012,
  retriesPerS: 0.05,
  hedgesPerS: 0,
  failedShare: Number.NaN,
  breaker: "half-open",
  connectionsOpen: 8,
  connectionsIdle: 3,
};

const snapshot: TopSnapshot = {
  windowS: 60,
  isSinceStart: false,
  version: "1.2.3",
  inFlight: 5,
  requestsPerS: 12.34,
  refusedPerS: 0.4,
  limit: 64,
  lagP99: many,
  linesDropped: 0,
  tracesDropped: 7,
  models: [{ model: "smart", inFlight: 5 }],
  lanes: [{ lane: "short", queued: 2, oldestS: 1.5, inFlight: 5, waitP99: few }],
  rows: [row, { ...row, upstream: "azure" }],
};

const frame = { columns: 120, rows: 40, color: false, where: "http://127.0.0.1:4000" };

describe("drawTop", () => {
  it("puts n beside each percentile, and in brackets what has fewer than ten beyond", () => {
    const text = drawTop(snapshot, frame).join("\n");
    expect(text).toContain(
      "12.3 req/s  5 open  64 places  0.4 refused/s  loop lag p99 30.0 ms  7 traces dropped",
    );
    expect(text).toMatch(
      /smart \/ openai +12\.3 +5 +30\.0 ms +\(250 ms\) +100 +30\.0 ms +5000 +1\.2 % +– +<0\.1 +0 +half-open +8 \(3\)/,
    );
    // What is open is known by model: it stands once.
    expect(text).toMatch(/smart \/ azure +12\.3 +30\.0 ms/);
    expect(text).toMatch(/short +2 +1\.50 s +5 +\(250 ms\) +100/);
  });

  it.each([40, 60, 80, 120])("is no wider than %d columns, and no higher than asked", (columns) => {
    const lines = drawTop(snapshot, {
      ...frame,
      columns,
      color: true,
      fault: "no answer: ECONNREFUSED",
    });
    for (const line of lines)
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(columns);
    const low = drawTop(snapshot, { ...frame, columns, rows: 5 });
    expect(low).toHaveLength(5);
    expect(low.at(-1)).toMatch(/more lines/);
  });

  it("lets no control character of a name into the terminal, and has no colour unless asked", () => {
    const evil = { ...snapshot, rows: [{ ...row, model: "a\x1b[31mb\nc" }] };
    const text = drawTop(evil, frame).join("\n");
    expect(text).not.toContain("\x1b");
    expect(text.split("\n").some((line) => line.startsWith("c"))).toBe(false);
    expect(drawTop(snapshot, { ...frame, color: true }).join("")).toContain("\x1b[1m");
  });
});

const STREAM = [
  { bytes: EVENT_STREAM_HEAD },
  { bytes: chunk(chatText("a")) },
  { afterMs: 5, bytes: chunk(chatText("b", "stop") + CHAT_DONE) },
  { bytes: LAST_CHUNK },
];

async function run(io: FakeIo, ...argv: string[]): Promise<number> {
  return runProgram(makeProgram(io), ["gateway", "top", ...argv], io);
}

describe("manx gateway top", () => {
  it("prints one table and ends with --once", async () => {
    const { gateway, chatUrl } = await liveGateway(() => STREAM);
    for (let i = 0; i < 3; i += 1) await answer(chatUrl);
    await until(() => gateway.inFlight() === 0);
    const io = new FakeIo({ clock: realClock });
    expect(await run(io, "--url", gateway.url, "--once")).toBe(0);
    expect(io.out).toMatch(/since the start/);
    expect(io.out).toMatch(/^\* \/ upstream +.*\(\d/m);
    expect(io.out).not.toContain("\x1b");
  });

  it("writes a line of JSON at each interval, until it is interrupted", async () => {
    const { gateway, chatUrl } = await liveGateway(() => STREAM);
    const io = new FakeIo({ clock: realClock });
    const ended = run(io, "--url", gateway.url, "--json", "--interval", "20ms");
    await until(() => io.out.includes("\n"));
    await answer(chatUrl);
    await until(async () => /"ttftP50":\{"valueS":\d/.test(io.out));
    io.pull();
    expect(await ended).toBe(0);
    const lines = io.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ isSinceStart: true });
    expect(lines.at(-1).rows[0]).toMatchObject({
      model: "*",
      upstream: "upstream",
      ttftP50: { n: 1 },
    });
  });

  it("says what is wrong if nobody, or somebody else, answers", async () => {
    const io = new FakeIo({ clock: realClock });
    expect(await run(io, "--url", "http://127.0.0.1:9", "--once")).toBe(4);
    expect(io.err).toContain("MANX_TARGET_DOWN");
    const { upstream } = await liveGateway(() => [
      { bytes: "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nx 1" },
    ]);
    const other = new FakeIo({ clock: realClock });
    expect(await run(other, "--url", upstream.url, "--once")).toBe(4);
    expect(other.err).toContain("no Manx gateway");
    expect(await run(new FakeIo(), "--url", "here")).toBe(2);
  });
});
