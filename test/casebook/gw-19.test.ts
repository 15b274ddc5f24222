/** GW-19: hedges double the load when everything is slow, the loser runs on, a role chunk or an error wins the race. */
import { describe, expect, it } from "vitest";
import { HEDGE_POLICY } from "../../src/policy/index.ts";
import {
  answer,
  type CallTrace,
  drive,
  makeRoute,
  refusal,
  type Script,
  world,
} from "../support/call-world.ts";
import {
  CHAT_URL,
  call,
  chatBody,
  chatScript,
  type FetchScript,
  fetchWorld,
  refusal as refused,
} from "../support/fetch-world.ts";

const MS = 1_000;
const DELAY_MS = 1_000;
const CALLS = 1_000;

/** A route whose hedge delay is a second, as it would be after calls of which 5 % took longer. */
function route(targets = 1) {
  const { clock, random } = world(7);
  const made = makeRoute(random, {
    targets,
    policy: { hedge: { ...HEDGE_POLICY, floorUs: DELAY_MS * MS }, breaker: null },
  });
  for (const target of made.targets) {
    for (let i = 0; i < 200; i += 1) target.ttft.record(500, (i % 20 === 0 ? 5_000 : 300) * MS);
  }
  return { clock, random, made };
}

/** @param slowAt whether the nth call's first attempt is slow. Arrivals 100 ms apart. */
function play(upstreamMs: (call: number, attempt: number) => number) {
  const { clock, made } = route();
  const traces: CallTrace[] = [];
  let closedLateUs = 0;
  for (let i = 0; i < CALLS; i += 1) {
    clock.at(i * 100 * MS, () => {
      traces.push(drive(clock, made, {}, (_, attempt) => answer(upstreamMs(i, attempt) * MS)));
    });
  }
  clock.runSync();
  const ttftMs = traces
    .map(({ contentUs, begins }) => (contentUs! - begins[0]!.atUs) / MS)
    .sort((a, b) => a - b);
  for (const { cancels, contentUs } of traces) {
    for (const { atUs } of cancels) closedLateUs = Math.max(closedLateUs, atUs - contentUs!);
  }
  return {
    hits: traces.reduce((sum, { begins }) => sum + begins.length, 0),
    p99Ms: ttftMs[Math.ceil(CALLS * 0.99) - 1]!,
    closedLateUs,
    refusals: made.hedger!.refusals,
    traces,
  };
}

describe("GW-19: hedging", () => {
  it("phase 1: cures what is slow by chance, within its budget", () => {
    const slow = new Set(Array.from({ length: 50 }, (_, i) => (i * 20 + ((i * 7) % 13)) % CALLS));
    const { hits, p99Ms, closedLateUs, traces } = play((call, attempt) => {
      return slow.has(call) && attempt === 0 ? 5_000 : 300;
    });
    expect(hits - CALLS).toBeGreaterThanOrEqual(45);
    expect(hits - CALLS).toBeLessThanOrEqual(50);
    expect(p99Ms).toBeLessThanOrEqual(1_350);
    expect(closedLateUs).toBe(0);
    const hedged = traces.find(({ begins }) => begins.length === 2)!;
    expect(hedged.call.records.map(({ end }) => end)).toEqual(["lost", "delivered"]);
  });

  it("phase 2: stays away when the whole upstream is slow, and says so", () => {
    const { hits, refusals } = play(() => 1_200);
    expect(hits - CALLS).toBeLessThanOrEqual(3);
    expect(refusals.saturated).toBeGreaterThan(900);
  });

  /** One call on two replicas, hedged once. */
  function race(first: Script, second: Script): CallTrace {
    const { clock, made } = route(2);
    for (let i = 0; i < 40; i += 1) made.hedges.earn(500, 0);
    const trace = drive(clock, made, {}, (_, attempt) => (attempt === 0 ? first : second));
    clock.runSync();
    return trace;
  }

  it("phase 3: the first payload wins, not the first byte", () => {
    const trace = race({ headUs: 10 * MS }, answer(400 * MS));
    expect(trace.delivered).toBe(1);
    expect(trace.contentUs).toBe(1_400 * MS);
    expect(trace.cancels).toEqual([{ attempt: 0, why: "lost", atUs: 1_400 * MS }]);
    const [primary, hedge] = trace.begins;
    expect(hedge!.target).not.toBe(primary!.target);
  });

  it("phase 4: a call with effects is never sent twice", () => {
    const { clock, made } = route(2);
    for (let i = 0; i < 40; i += 1) made.hedges.earn(500, 0);
    const trace = drive(clock, made, { isRepeatable: false }, () => answer(5_000 * MS));
    clock.runSync();
    expect(trace.begins).toHaveLength(1);
  });

  it("phase 5: a hedge that fails does not replace a live primary", () => {
    const trace = race(answer(3_000 * MS), refusal(429, undefined, 0));
    expect(trace.delivered).toBe(0);
    expect(trace.failure).toBeUndefined();
    expect(trace.begins).toHaveLength(2);
  });
});

describe("GW-19 in the agent's own process", () => {
  const hedge = { floor: "1s" } as const;
  /** Calls that teach what is usual: enough for a percentile. */
  const TAUGHT = 200;

  /** @param upstream of the calls after those, in the order of their hits. */
  function taught(
    upstream: (hit: number) => FetchScript,
    targets?: { name: string; baseURL?: string }[],
  ) {
    const world = fetchWorld((_, number) => {
      if (number >= TAUGHT) return upstream(number - TAUGHT);
      return chatScript(number % 20 === 0 ? 1_000 : 300);
    });
    const options = targets === undefined ? {} : { targets };
    const run = world.manx({ policy: { hedge, breaker: false }, ...options });
    return {
      world,
      run,
      teach: async () => {
        for (let i = 0; i < TAUGHT; i += 1) world.at(i * 100, () => void call(world, run));
        await world.clock.run();
      },
    };
  }

  it("phase 1: cures what is slow by chance, within its budget, and closes each loser in the same instant", async () => {
    let call50 = 0;
    const { world, run, teach } = taught(() => chatScript(call50));
    await teach();
    const begun = run.stats().hedges.begun;
    const seen: { atMs: number; made: ReturnType<typeof call> }[] = [];
    const t0 = world.nowMs();
    for (let i = 0; i < CALLS; i += 1) {
      world.at(t0 + i * 100, () => {
        call50 = i % 20 === 7 ? 5_000 : 300;
        seen.push({ atMs: world.nowMs(), made: call(world, run) });
      });
      // Whatever comes after it in its time is a hedge, which is prompt.
      world.at(t0 + i * 100 + 1, () => {
        call50 = 300;
      });
    }
    await world.clock.run();
    const ttftMs = seen.map(({ atMs, made }) => made.settledMs! - atMs).sort((a, b) => a - b);
    const hedges = run.stats().hedges.begun - begun;
    expect(hedges).toBeGreaterThanOrEqual(45);
    expect(hedges).toBeLessThanOrEqual(50);
    expect(ttftMs[Math.ceil(CALLS * 0.99) - 1]).toBeLessThanOrEqual(1_400);
    for (const { attempts } of world.records) {
      const content = attempts.find(({ end }) => end === "delivered")!.contentUs!;
      for (const { end, endedUs } of attempts) if (end === "lost") expect(endedUs).toBe(content);
    }
    expect(run.stats().open).toBe(0);
  });

  it("phase 2: stays away when the whole upstream is slow, and says so", async () => {
    const { world, run, teach } = taught(() => chatScript(1_200));
    await teach();
    const hits = world.hits.length;
    for (let i = 0; i < CALLS; i += 1)
      world.at(world.nowMs() + i * 100, () => void call(world, run));
    await world.clock.run();
    expect(world.hits.length - hits).toBeLessThanOrEqual(CALLS + 50);
    expect(run.stats().hedges.refused.saturated).toBeGreaterThan(900);
  });

  it("phase 3: the first payload wins, not the first byte", async () => {
    const muted = { chunks: [[10, role]], end: { atMs: 0, how: "hang" } } as const;
    const { world, run, teach } = taught(
      (hit) => (hit === 0 ? muted : chatScript(400)),
      [{ name: "a" }, { name: "b", baseURL: "https://b.example.com/v1" }],
    );
    await teach();
    const seen = call(world, run);
    await world.clock.run();
    const { attempts } = world.records.at(-1)!;
    expect(attempts.map(({ end, targetName }) => [targetName, end])).toEqual([
      ["a", "lost"],
      ["b", "delivered"],
    ]);
    expect(seen.broke).toBeUndefined();
    expect(world.hits.at(-2)!.cancelledMs).toBe(seen.settledMs);
  });

  it.each([{ store: true }, { tools: [{ type: "web_search" }] }])(
    "phase 4: %o is never sent twice",
    async (more) => {
      const { world, run, teach } = taught(() => chatScript(5_000));
      await teach();
      call(world, run, chatBody(more));
      await world.clock.run();
      expect(world.hits).toHaveLength(TAUGHT + 1);
      const stored = world.hits.length;
      // The responses API stores unless it is told not to.
      call(world, run, chatBody(), CHAT_URL.replace("chat/completions", "responses"));
      await world.clock.run();
      expect(world.hits).toHaveLength(stored + 1);
    },
  );

  it("phase 5: a hedge that fails does not replace a live primary", async () => {
    const { world, run, teach } = taught((hit) => (hit === 0 ? chatScript(3_000) : refused(429)));
    await teach();
    const seen = call(world, run);
    await world.clock.run();
    expect(world.records.at(-1)!.attempts.map(({ end }) => end)).toEqual(["delivered", "status"]);
    expect(seen).toMatchObject({ broke: undefined });
    expect(seen.response!.status).toBe(200);
  });
});

const role = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] })}\n\n`;
