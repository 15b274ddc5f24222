/** LD-07: the client is the bottleneck. */
import { afterEach, describe, expect, it } from "vitest";
import { RealClock, TimerClock } from "../../src/clock/index.ts";
import { calibrate, LiveTarget, type ResultRun, runOpenLoop } from "../../src/load/index.ts";
import { LoopLag } from "../../src/load/loop-lag.ts";
import { histogramQuantile } from "../../src/stats/index.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
  type ReplayServer,
  startReplayServer,
} from "../support/replay-server.ts";
import { every } from "../support/virtual-load.ts";

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Time that can pass while nothing runs, as in a process whose event loop is blocked. */
class BlockingClock extends TimerClock {
  #nowUs = 0;
  #timers: { atUs: number; run: () => void }[] = [];

  nowUs(): number {
    return this.#nowUs;
  }

  wallMs(): number {
    return 0;
  }

  at(atUs: number, run: () => void): () => void {
    const timer = { atUs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Runs timers on time. */
  pass(us: number): void {
    for (const endUs = this.#nowUs + us; ; ) {
      const next = this.#timers.sort((a, b) => a.atUs - b.atUs)[0];
      if (next === undefined || next.atUs > endUs) {
        this.#nowUs = endUs;
        return;
      }
      this.#nowUs = Math.max(this.#nowUs, next.atUs);
      this.#timers.shift();
      next.run();
    }
  }

  /** Nothing runs; then everything that was due does. */
  block(us: number): void {
    this.#nowUs += us;
    this.pass(0);
  }
}

describe("event-loop lag", () => {
  it("is none while timers run on time", () => {
    const clock = new BlockingClock();
    const lag = new LoopLag(clock);
    lag.start();
    clock.pass(10_000_000);
    expect(lag.histogram.n).toBe(1_000);
    expect(lag.histogram.max).toBe(0);
  });

  it("of a block of 50 ms every 200 ms has a p99 near 50 ms, since swallowed ticks count", () => {
    const clock = new BlockingClock();
    const lag = new LoopLag(clock);
    lag.start();
    for (let i = 0; i < 100; i += 1) {
      clock.pass(150_000 - 1_000);
      clock.block(51_000);
    }
    // One sample for each 10 ms, blocked or not: an eighth of them lay in the first half of a block.
    expect(lag.histogram.n).toBe(2_000);
    const long = 1 - lag.histogram.shareAtMost(25_000);
    expect(long).toBeGreaterThan(0.1);
    expect(long).toBeLessThan(0.16);
    const p99 = histogramQuantile(lag.histogram, 0.99).value;
    expect(p99).toBeGreaterThan(40_000);
    expect(p99).toBeLessThanOrEqual(51_000);
  });
});

/** Streams of ten chunks 20 ms apart. */
function chunks(): Promise<ReplayServer> {
  return startReplayServer(() => [
    { bytes: EVENT_STREAM_HEAD },
    ...Array.from({ length: 10 }, () => ({ afterMs: 20, bytes: chunk(chatText("w ")) })),
    { bytes: chunk(chatText("", "stop") + CHAT_DONE) },
    { bytes: LAST_CHUNK },
  ]);
}

async function liveRun(
  server: ReplayServer,
  count: number,
  gapUs: number,
  connectionsMax?: number,
): Promise<ResultRun> {
  const clock = new RealClock();
  const target = new LiveTarget({
    url: server.url,
    clock,
    model: "m",
    nonce: "n",
    seed: 1,
    ...(connectionsMax !== undefined && { connectionsMax }),
  });
  closing.push(() => target.close());
  return runOpenLoop({
    name: "live",
    world: "live",
    seed: 1,
    conditions: {
      target: server.url,
      arrivals: "constant",
      workload: "script",
      temperature: "mixed",
      cacheMode: "none",
      setup: {},
    },
    clock,
    requests: every(gapUs, count),
    spanUs: count * gapUs,
    target,
  });
}

function blockLoop(ms: number, everyMs: number): () => void {
  const timer = setInterval(() => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  }, everyMs);
  return () => clearInterval(timer);
}

describe("over real sockets", () => {
  it("B: marks a run invalid whose process is blocked 50 ms in every 200", async () => {
    const server = await chunks();
    closing.push(() => server.close(), blockLoop(50, 200));
    const run = await liveRun(server, 40, 50_000);
    expect(run.counts.completed).toBe(40);
    const loop = run.verdicts.find(({ name }) => name === "event-loop");
    expect(loop).toMatchObject({ status: "unknown" });
    const p99 = run.metrics.loopLagUs!.quantiles.find(({ q }) => q === 0.99)!.value!;
    expect(p99).toBeGreaterThan(35_000);
  });

  it("C: opens a socket for each of 300 requests at once, or shows the wait for one apart", async () => {
    const free = await chunks();
    closing.push(() => free.close());
    const open = await liveRun(free, 300, 0);
    expect([open.counts.completed, free.connections]).toEqual([300, 300]);

    const capped = await chunks();
    closing.push(() => capped.close());
    const waiting = await liveRun(capped, 300, 0, 100);
    expect([waiting.counts.completed, capped.connections]).toEqual([300, 100]);
    // Two thirds of them waited for at least one whole stream of 200 ms, and all figures from the intended start hold it.
    const wait = waiting.metrics.waitUs!.quantiles.find(({ q }) => q === 0.5)!.value!;
    expect(wait).toBeGreaterThan(180_000);
    const ttft = waiting.metrics.ttftUs!.quantiles.find(({ q }) => q === 0.5)!.value!;
    expect(ttft).toBeGreaterThan(wait);
  });

  it("D: measures its own floor against a server whose write times it knows", async () => {
    const { ttftErrorP50, ttftErrorP99, gapErrorP50 } = await calibrate(new RealClock());
    expect(ttftErrorP50.n).toBeGreaterThan(80);
    expect(gapErrorP50.n).toBe(ttftErrorP50.n * 9);
    expect(ttftErrorP50.value).toBeGreaterThan(0);
    expect(ttftErrorP99.value).toBeGreaterThanOrEqual(ttftErrorP50.value);
  });
});
