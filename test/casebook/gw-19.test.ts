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
