/** A set of replicas over real sockets: live twins that die, come back and start cold, and servers that talk nonsense. */
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { type Clock, realClock, TimerClock } from "../../src/clock/index.ts";
import { ReplicaSet, type ReplicaSetOptions } from "../../src/gateway/index.ts";
import { startTwin, stopTwins, until } from "../support/live-twin.ts";
import { head, json, type ReplayServer, startReplayServer } from "../support/replay-server.ts";

afterEach(stopTwins);

const MS = 1_000;

/** The real clock, and how many of its timers are outstanding. */
class CountingClock extends TimerClock {
  outstanding = 0;

  nowUs(): number {
    return realClock.nowUs();
  }

  wallMs(): number {
    return realClock.wallMs();
  }

  at(atUs: number, run: () => void): () => void {
    let isOpen = true;
    const done = (): void => {
      if (isOpen) this.outstanding -= 1;
      isOpen = false;
    };
    this.outstanding += 1;
    const cancel = realClock.at(atUs, () => {
      done();
      run();
    });
    return () => {
      done();
      cancel();
    };
  }
}

function replicaSet(urls: readonly string[], options: Partial<ReplicaSetOptions> = {}): ReplicaSet {
  const set = new ReplicaSet({
    replicas: urls.map((url) => ({ url })),
    intervalUs: 20 * MS,
    timeoutUs: 500 * MS,
    indexBytesMax: 2 ** 18,
    ...options,
  });
  onTestFinished(() => set.stop());
  return set;
}

const states = (set: ReplicaSet): string[] => set.snapshot().replicas.map(({ state }) => state);

/** One call through the set, tried on another replica if the first is down. @returns the replicas that it was sent to. */
async function call(set: ReplicaSet, prefixIds: readonly number[] = []): Promise<number[]> {
  const tried: number[] = [];
  while (tried.length < 3) {
    const placement = set.pick({ prefixIds, tokens: 50, outputTokens: 5, excluded: tried });
    if (placement === undefined) break;
    tried.push(placement.replica);
    try {
      const answer = await fetch(`${set.urls[placement.replica]}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({
          messages: [{ role: "user", content: "five words for the twin" }],
          manx: { output_tokens: 5 },
        }),
      });
      set.firstOutput(placement);
      await answer.arrayBuffer();
      set.end(placement, answer.ok ? "ok" : "error");
      if (answer.ok) return tried;
    } catch {
      set.end(placement, "down");
    }
  }
  throw new Error(`failed on ${tried.join(", ")}`);
}

/** Calls one after the other in as many lines as said. */
async function traffic(set: ReplicaSet, calls: number, lines: number): Promise<number[][]> {
  const done: number[][] = [];
  const line = async (): Promise<void> => {
    for (let i = 0; i < calls / lines; i += 1) done.push(await call(set));
  };
  await Promise.all(Array.from({ length: lines }, line));
  return done;
}

/** Answers /health as said, and everything else with `page`. */
function engine(page: string | undefined, health = 200): Promise<ReplayServer> {
  return startReplayServer(({ path }) => {
    if (path === "/health") return [{ bytes: json(health, {}) }];
    return page === undefined ? [] : [{ bytes: page }];
  }).then((server) => {
    onTestFinished(() => server.close());
    return server;
  });
}

const text = (body: string): string =>
  head(200, { "content-type": "text/plain", "content-length": String(Buffer.byteLength(body)) }) +
  body;

describe("ReplicaSet", () => {
  it("loses no call when a replica is killed, asks it for none until it is back, then lets it warm up", async () => {
    const twins = [await startTwin(), await startTwin(), await startTwin()];
    const set = replicaSet(
      twins.map(({ url }) => url),
      {
        health: { backoffUs: 50 * MS, probeUs: 40 * MS, rampUs: 300 * MS },
      },
    );
    await set.ready;
    const before = await traffic(set, 60, 6);
    expect(new Set(before.flat()).size).toBe(3);
    expect(before.every((tried) => tried.length === 1)).toBe(true);

    const running = traffic(set, 240, 6);
    await until(() => set.snapshot().replicas[1]!.picks > 25, "a few more calls");
    await twins[1]!.close();
    const during = await running;
    expect(during).toHaveLength(240);
    // Those under way, six at most, and none after the first of them has told.
    expect(during.filter((tried) => tried.length > 1).length).toBeLessThanOrEqual(6);
    expect(states(set)[1]).toBe("ejected");
    const picks = set.snapshot().replicas[1]!.picks;
    await traffic(set, 60, 6);
    expect(set.snapshot().replicas[1]!.picks).toBe(picks);

    await startTwin({}, { port: Number(new URL(twins[1]!.url).port) });
    await until(() => states(set)[1] !== "ejected", "its probe");
    await until(() => states(set)[1] === "healthy", "the end of its ramp");
    await traffic(set, 60, 6);
    expect(set.snapshot().replicas[1]!.picks).toBeGreaterThan(picks);
    for (const { requests, openTokens } of set.snapshot().replicas) {
      expect([requests, openTokens]).toEqual([0, 0]);
    }
  });

  it("reads what the twin says of itself, and stays away from what others have filled", async () => {
    const twins = [await startTwin({ memory: "paged" }), await startTwin({ memory: "paged" })];
    const set = replicaSet(twins.map(({ url }) => url));
    await set.ready;
    const abort = new AbortController();
    const others = Array.from({ length: 8 }, () =>
      fetch(`${twins[0]!.url}/v1/chat/completions`, {
        method: "POST",
        signal: abort.signal,
        body: JSON.stringify({
          messages: [{ role: "user", content: "word ".repeat(2_000) }],
          max_tokens: 2_000,
          ignore_eos: true,
          stream: true,
        }),
      }).catch(() => undefined),
    );
    await until(() => set.snapshot().replicas[0]!.report?.running === 8, "others in the metrics");
    const [busy, idle] = set.snapshot().replicas;
    expect(busy!.loadTokens).toBeGreaterThan(10_000);
    expect(busy!.requests).toBe(0);
    expect([idle!.loadTokens, idle!.isStale]).toEqual([0, false]);
    expect(busy!.report!.cacheTokens).toBeGreaterThan(100_000);
    const tried = await traffic(set, 10, 1);
    expect(tried.flat()).toEqual(new Array(10).fill(1));
    abort.abort();
    await Promise.all(others);
  });

  it("goes on with a replica whose metrics are garbage, missing, too large or late", async () => {
    const servers = [
      await engine(text("<html>\nnot metrics at all\n")),
      await engine(json(404, {})),
      await engine(text(`${"x".repeat(99)}\n`.repeat(1_000))),
      await engine(undefined),
      await engine(`${head(200, { "transfer-encoding": "chunked" })}zz\r\n`),
    ];
    const set = replicaSet(
      servers.map(({ url }) => url),
      { pageBytesMax: 50_000, timeoutUs: 100 * MS },
    );
    await set.ready;
    await until(
      () => set.snapshot().replicas.every(({ metricsFailed }) => metricsFailed > 1),
      "two failures each",
    );
    const { replicas } = set.snapshot();
    expect(replicas.every(({ state, isStale }) => state === "healthy" && isStale)).toBe(true);
    expect(replicas[0]!.badLines).toBeGreaterThanOrEqual(2);
    expect(replicas.slice(0, 4).map(({ lastFault }) => lastFault)).toEqual([
      "metrics: not an engine's page",
      "metrics: status 404",
      "too large",
      "timeout",
    ]);
    const picked = Array.from(
      { length: 10 },
      () => set.pick({ prefixIds: [], tokens: 10 })!.replica,
    );
    expect(new Set(picked).size).toBe(5);
  });

  it("never sends to one that is not healthy, and says when to come back if none is", async () => {
    const sick = await engine(text(""), 500);
    const hung = await startReplayServer(() => []);
    onTestFinished(() => hung.close());
    const set = replicaSet([sick.url, hung.url, "http://127.0.0.1:9"], {
      timeoutUs: 50 * MS,
      health: { backoffUs: 5 * MS, probeUs: 5 * MS },
    });
    await until(() => states(set).every((state) => state === "ejected"), "three ejections");
    expect(set.pick({ prefixIds: [] })).toBeUndefined();
    expect(set.retryAfterUs()).toBeLessThanOrEqual(30_000 * MS);
    expect(set.snapshot().replicas.map(({ lastFault }) => lastFault)).toEqual([
      "health: status 500",
      "timeout",
      "ECONNREFUSED",
    ]);
  });

  it("sends to a cold replica last, and drains by address", async () => {
    const twins = [await startTwin(), await startTwin(), await startTwin()];
    const set = replicaSet([], {
      replicas: twins.map(({ url }, replica) => ({ url, isCold: replica === 0 })),
    });
    await set.ready;
    expect(states(set)).toEqual(["cold", "healthy", "healthy"]);
    set.drain(`${twins[2]!.url}/v1`);
    const tried = await traffic(set, 20, 4);
    expect(new Set(tried.flat())).toEqual(new Set([1]));
    set.resume(twins[2]!.url);
    expect(states(set)[2]).toBe("healthy");
    expect(() => set.drain("http://127.0.0.1:1")).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
    );
  });

  it("leaves no timer and no socket behind, whatever it was waiting for", async () => {
    const hung = await startReplayServer(() => []);
    const well = await engine(text("vllm:num_requests_waiting 1\nvllm:num_requests_running 2\n"));
    onTestFinished(() => hung.close());
    const clock = new CountingClock();
    const set = replicaSet([hung.url, well.url], { clock: clock as Clock, timeoutUs: 60_000 * MS });
    await until(() => set.snapshot().replicas[1]!.rounds > 3, "some rounds");
    expect(clock.outstanding).toBeGreaterThan(0);
    expect([hung.openConnections, well.openConnections]).toEqual([1, 1]);
    await set.stop();
    await until(() => hung.openConnections + well.openConnections === 0, "closed connections");
    await until(() => clock.outstanding === 0, "no timer");
    await set.ready;
    const { rounds } = set.snapshot().replicas[1]!;
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect([set.snapshot().replicas[1]!.rounds, clock.outstanding]).toEqual([rounds, 0]);
  });

  it("refuses a fleet that cannot be", () => {
    const bad = (replicas: ReplicaSetOptions["replicas"]) => () => new ReplicaSet({ replicas });
    const url = "http://127.0.0.1:1";
    expect(bad([])).toThrow(expect.objectContaining({ code: "MANX_FLAG_VALUE" }));
    expect(bad(new Array(257).fill({ url }))).toThrow(/./);
    expect(bad([{ url }, { url, role: "prefill" }])).toThrow(/./);
    expect(bad([{ url, role: "prefill" }])).toThrow(/./);
    expect(bad([{ url: "nonsense" }])).toThrow(expect.objectContaining({ code: "MANX_URL" }));
  });
});
