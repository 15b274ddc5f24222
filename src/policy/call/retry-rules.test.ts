/** The rules of retries and hedges, one by one; that they hold together in any world is `call.test.ts`. */
import { describe, expect, it } from "vitest";
import {
  answer,
  type CallTrace,
  drive,
  makeRoute,
  type RouteOptions,
  refusal,
  type Script,
  world,
} from "../../../test/support/call-world.ts";
import { CALL_POLICY, HEDGE_POLICY } from "./call-policy.ts";
import type { CallRequest } from "./call-request.ts";
import { plainFailure } from "./failure.ts";

const MS = 1_000;
const S = 1_000_000;

interface Play extends RouteOptions {
  readonly request?: Partial<CallRequest>;
  readonly seed?: number;
}

/** One call to its end. @param script by target and attempt. */
function play(script: (target: number, attempt: number) => Script, options: Play = {}): CallTrace {
  const { clock, random } = world(options.seed ?? 1);
  const trace = drive(clock, makeRoute(random, options), options.request ?? {}, script);
  clock.runSync(1_000 * S);
  return trace;
}

const retry = (more: object) => ({ policy: { retry: { ...CALL_POLICY.retry, ...more } } });

/** Pauses between an attempt's end and the next one's begin, over many draws. */
function pausesMs(script: (attempt: number) => Script, options: Play, at = 0): number[] {
  return Array.from({ length: 200 }, (_, seed) => {
    const { begins, call } = play((_, attempt) => script(attempt), { ...options, seed });
    return (begins[at + 1]!.atUs - call.records[at]!.endedUs!) / MS;
  });
}

const lowest = (values: readonly number[]): number => Math.min(...values);
const highest = (values: readonly number[]): number => Math.max(...values);

describe("a pause of our own", () => {
  it("loses up to half to chance, and doubles", () => {
    const options = retry({ attemptsMax: 4 });
    const first = pausesMs(() => refusal(503), options);
    expect(lowest(first)).toBeGreaterThanOrEqual(125);
    expect(lowest(first)).toBeLessThan(150);
    expect(highest(first)).toBeLessThanOrEqual(250);
    expect(highest(first)).toBeGreaterThan(230);
    const third = pausesMs(() => refusal(503), options, 2);
    expect(lowest(third)).toBeGreaterThanOrEqual(500);
    expect(highest(third)).toBeLessThanOrEqual(1_000);
  });

  it("is never above its cap", () => {
    const pauses = pausesMs(
      () => refusal(503),
      retry({ attemptsMax: 4, backoffCapUs: 300 * MS }),
      2,
    );
    expect(highest(pauses)).toBeLessThanOrEqual(300);
    expect(highest(pauses)).toBeGreaterThan(250);
  });

  it("is four times as long where the target says that it is overloaded", () => {
    const pauses = pausesMs(() => refusal(529), retry({}));
    expect(lowest(pauses)).toBeGreaterThanOrEqual(500);
    expect(highest(pauses)).toBeLessThanOrEqual(1_000);
  });
});

describe("a pause that the target asks for", () => {
  it("is never cut short, and a little spread", () => {
    const pauses = pausesMs(
      (attempt) => (attempt === 0 ? refusal(429, 2 * S) : answer(MS)),
      retry({}),
    );
    expect(lowest(pauses)).toBeGreaterThanOrEqual(2_000);
    expect(highest(pauses)).toBeLessThanOrEqual(2_200);
    expect(highest(pauses) - lowest(pauses)).toBeGreaterThan(100);
  });

  it("is not slept through where it is too long: the refusal is passed on, with its header", () => {
    const trace = play(() => refusal(429, 21 * S));
    expect(trace.begins).toHaveLength(1);
    expect(trace.failure).toMatchObject({ kind: "status", status: 429, retryAfterUs: 21 * S });
    expect(trace.endedUs).toBe(20 * MS);
  });

  it("keeps later calls off the target as well, unless it was one caller's own limit", () => {
    for (const sharesLimits of [true, false]) {
      const { clock, random } = world();
      const route = makeRoute(random, { sharesLimits });
      drive(clock, route, {}, () => refusal(429, 5 * S));
      clock.runSync(S);
      const later = drive(clock, route, {}, () => answer(MS));
      clock.runSync(30 * S);
      const beganUs = later.begins[0]!.atUs;
      if (sharesLimits) expect(beganUs).toBeGreaterThanOrEqual(5 * S);
      else expect(beganUs).toBe(S);
    }
  });
});

describe("an attempt", () => {
  it("that was refused for good is the last", () => {
    const trace = play(() => refusal(404), { targets: 3 });
    expect([trace.begins.length, trace.failure?.status]).toEqual([1, 404]);
  });

  it("that is cut twice in the same way is the last, before the number is used up", () => {
    const trace = play(() => ({ endUs: MS, failure: plainFailure("cut") }), {
      targets: 4,
      ...retry({ attemptsMax: 5 }),
    });
    expect(trace.begins).toHaveLength(2);
  });

  it("at another target is a failover, at the same one a retry", () => {
    const causes = (targets: number): string[] => {
      const trace = play((_, attempt) => (attempt < 2 ? refusal(503, 200 * MS) : answer(MS)), {
        targets,
        orders: [0, 1],
      });
      return trace.begins.map(({ cause, target }) => `${cause} ${target}`);
    };
    expect(causes(1)).toEqual(["first 0", "retry 0", "retry 0"]);
    // Both have asked for a pause; the one that is back first, and first in order, gets it.
    expect(causes(2)).toEqual(["first 0", "failover 1", "failover 0"]);
  });

  it("on a kept connection that was dead is made again at once and not counted, a second time it is", () => {
    const dead: Script = { endUs: MS, failure: plainFailure("reuse_race") };
    const trace = play(
      (_, attempt) => (attempt === 0 ? dead : answer(MS)),
      retry({ attemptsMax: 1 }),
    );
    expect(trace.failure).toBeUndefined();
    expect(trace.begins.map(({ cause, atUs }) => [cause, atUs])).toEqual([
      ["first", 0],
      ["reuse_race", MS],
    ]);
    expect(play(() => dead, retry({ attemptsMax: 1 })).begins).toHaveLength(2);
  });

  it("is not made on a dead connection's account once the deadline is over, however late its end is told", () => {
    const { clock, random } = world();
    const trace = drive(
      clock,
      makeRoute(random, { policy: { deadlineUs: 100 * MS } }),
      {},
      () => ({ endUs: 150 * MS, failure: plainFailure("reuse_race") }),
      { lagUs: () => 200 * MS },
    );
    clock.runSync(10 * S);
    expect([trace.begins.length, trace.call.isOver]).toEqual([1, true]);
  });
});

describe("a deadline", () => {
  it("of the caller's counts if it is sooner than ours, and ours if that is", () => {
    const mute = (): Script => ({ headUs: MS });
    const policy = { deadlineUs: 3 * S };
    const sooner = play(mute, { policy, request: { deadlineUs: S } });
    const later = play(mute, { policy, request: { deadlineUs: 9 * S } });
    expect([sooner.endedUs, later.endedUs]).toEqual([S, 3 * S]);
    expect(sooner.failure?.kind).toBe("deadline");
  });

  it("is not waited for where no target will be back before it", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: { deadlineUs: 3 * S, breaker: null } });
    route.targets[0]!.cool(4 * S);
    const trace = drive(clock, route, {}, () => answer(MS));
    clock.runSync(10 * S);
    expect(trace.failure).toMatchObject({ kind: "no_target", retryAfterUs: 4 * S });
    expect(trace.endedUs).toBe(0);
  });
});

describe("times to first content", () => {
  it("are learnt from streams alone: without one the whole generation lies before the first byte", () => {
    for (const isStream of [true, false]) {
      const { clock, random } = world();
      const route = makeRoute(random);
      for (let i = 0; i < 30; i += 1) {
        drive(clock, route, { isStream }, () => answer(80 * MS));
        clock.runSync(clock.nowUs() + S);
      }
      expect(Number.isNaN(route.targets[0]!.ttft.quantileUs(500, 0.5))).toBe(!isStream);
    }
  });
});

describe("a breaker", () => {
  const breaker = { ...CALL_POLICY.breaker!, callsMin: 4 };

  function opened(script: Script, options: Play = {}): number {
    const { clock, random } = world();
    const route = makeRoute(random, { ...options, policy: { breaker, ...options.policy } });
    for (let i = 0; i < 8; i += 1) {
      drive(clock, route, { isStream: true }, () => script);
      clock.runSync(clock.nowUs() + 3 * S);
    }
    return route.targets[0]!.breakerOpened;
  }

  it("hears of time-outs and of what breaks after its first content, and not of limits or callers' faults", () => {
    const timeouts = { ...CALL_POLICY.timeouts, firstContentUs: S, lifeGapUs: S };
    const policy = { timeouts };
    expect(opened({ headUs: MS }, { policy })).toBeGreaterThan(0);
    expect(opened({ headUs: MS, contentUs: 2 * MS }, { policy })).toBeGreaterThan(0);
    const cut = { headUs: MS, contentUs: 2 * MS, endUs: 3 * MS, failure: plainFailure("cut") };
    expect(opened(cut)).toBeGreaterThan(0);
    for (const status of [400, 404, 429]) expect(opened(refusal(status)), `${status}`).toBe(0);
    for (const kind of ["local", "reuse_race"] as const) {
      expect(opened({ endUs: MS, failure: plainFailure(kind) }), kind).toBe(0);
    }
  });
});

describe("a hedge", () => {
  /** Targets that usually take 40 ms, so that a hedge comes at the floor of 50 ms. */
  function hedged(
    script: (target: number, attempt: number) => Script,
    more: object = {},
    targets = 2,
  ) {
    const { clock, random } = world();
    const hedge = { ...HEDGE_POLICY, share: 1, ...more };
    const route = makeRoute(random, { targets, orders: [0, 1], policy: { hedge, breaker: null } });
    for (const target of route.targets) {
      for (let i = 0; i < 100; i += 1) target.ttft.record(500, 40 * MS);
    }
    for (let i = 0; i < 20; i += 1) route.hedges.earn(500, 0);
    const call = (): CallTrace => {
      const trace = drive(clock, route, {}, script);
      clock.runSync(clock.nowUs() + 20 * S);
      return trace;
    };
    return { call, hedger: route.hedger! };
  }

  it("goes to another target, and to the same one only where that is wanted", () => {
    const slow = (_: number, attempt: number): Script => answer(attempt === 0 ? 900 * MS : 10 * MS);
    const targets = (trace: CallTrace): number[] => trace.begins.map(({ target }) => target);
    expect(targets(hedged(slow).call())).toEqual([0, 1]);
    expect(targets(hedged(slow, { sameTarget: true }, 1).call())).toEqual([0, 0]);
    expect(targets(hedged(slow, { sameTarget: false }, 1).call())).toEqual([0]);
  });

  it("is not begun for calls that are in time, and these keep the target from looking slow", () => {
    const prompt = hedged(() => answer(40 * MS));
    for (let i = 0; i < 50; i += 1) expect(prompt.call().begins).toHaveLength(1);
    let isSlow = true;
    const { call } = hedged(() => answer(isSlow ? 70 * MS : 40 * MS), { sameTarget: true }, 1);
    for (let i = 0; i < 5; i += 1) call();
    expect(call().begins).toHaveLength(1);
    isSlow = false;
    for (let i = 0; i < 20; i += 1) call();
    isSlow = true;
    expect(call().begins).toHaveLength(2);
  });

  it("that is late itself speaks of its own target", () => {
    const { call, hedger } = hedged(() => answer(400 * MS));
    for (let i = 0; i < 10; i += 1) call();
    expect(hedger.refusals.saturated).toBeGreaterThan(4);
    expect(call().begins).toHaveLength(1);
  });
});
