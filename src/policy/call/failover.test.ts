/** How a route bears a target that is ill, mute or slow, and who pays for it. */
import { describe, expect, it } from "vitest";
import {
  answer,
  drive,
  makeRoute,
  refusal,
  type Script,
  world,
} from "../../../test/support/call-world.ts";
import { AttemptBudget } from "./attempt-budget.ts";
import { CALL_POLICY, HEDGE_POLICY } from "./call-policy.ts";

const MS = 1_000;
const S = 1_000_000;
const MINUTE = 60 * S;

/** Two targets; the first does as told, the second is well. */
function pair(policy: object = {}) {
  const { clock, random } = world();
  const route = makeRoute(random, { targets: 2, orders: [0, 1], policy });
  /** @returns how many of the calls were served, and how often each target was asked. */
  const play = (count: number, gapUs: number, first: Script, request: object = {}) => {
    const hits = [0, 0];
    let served = 0;
    for (let i = 0; i < count; i += 1) {
      const trace = drive(clock, route, { isRepeatable: true, ...request }, (target) => {
        hits[target]! += 1;
        return target === 0 ? first : answer(50 * MS);
      });
      clock.runSync(clock.nowUs() + gapUs);
      if (trace.failure === undefined && trace.call.isOver) served += 1;
    }
    return { served, hits };
  };
  return { clock, route, play };
}

describe("a first target that is ill", () => {
  it("costs no call where calls are few: failover does not run out of budget", () => {
    const { clock, random } = world();
    const retries = new AttemptBudget({ share: 0.1, callsMax: 20, fill: 1, floorPerMinute: 6 });
    const route = { ...makeRoute(random, { targets: 2, orders: [0, 1] }), retries };
    for (let i = 0; i < 200; i += 1) {
      const trace = drive(clock, route, {}, (target) => {
        return target === 0 ? refusal(500) : answer(50 * MS);
      });
      clock.runSync(clock.nowUs() + MINUTE);
      expect(trace.failure, `call ${i}`).toBeUndefined();
    }
  });

  it("is failed over with a prompt that is larger than all others", () => {
    const { play } = pair();
    expect(play(50, S, answer(50 * MS)).served).toBe(50);
    expect(play(1, S, refusal(503), { inputTokens: 200_000 }).served).toBe(1);
  });
});

describe("a first target that goes mute", () => {
  const mute: Script = { headUs: 5 * MS };

  it("is found by the calls that its hedges save, not only by those that it kills", () => {
    const { route, play } = pair({ hedge: { ...HEDGE_POLICY, share: 1, percentile: 90 } });
    play(60, 200 * MS, answer(50 * MS));
    const { served, hits } = play(100, 5 * S, mute);
    expect(served).toBe(100);
    expect(route.targets[0]!.breakerOpened).toBeGreaterThan(0);
    expect(hits[0]).toBeLessThan(60);
  });

  it("is found by deadlines that pass, though no time-out of its own has", () => {
    const { route, play } = pair({ deadlineUs: 2 * S });
    play(60, 200 * MS, answer(50 * MS));
    const { served } = play(100, 500 * MS, mute);
    expect(route.targets[0]!.breakerOpened).toBeGreaterThan(0);
    expect(served).toBeGreaterThan(40);
  });
});

describe("work that may still run somewhere", () => {
  it("is not sent there again, whichever way a later attempt comes about", () => {
    const { clock, random } = world();
    const timeouts = { ...CALL_POLICY.timeouts, firstContentUs: S };
    const route = makeRoute(random, { targets: 2, orders: [0, 1], policy: { timeouts } });
    const trace = drive(clock, route, {}, (target) => {
      return target === 0 ? { headUs: 5 * MS } : refusal(503, 300 * MS);
    });
    clock.runSync(MINUTE);
    expect(trace.begins.map(({ target }) => target)).toEqual([0, 1, 1]);
  });
});

describe("a target that has asked for a pause", () => {
  it("gets those who wait for it one after another, and nobody waits for longer than is allowed", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: { breaker: null } });
    route.targets[0]!.cool(10 * S);
    const traces = Array.from({ length: 50 }, () => drive(clock, route, {}, () => answer(50 * MS)));
    clock.runSync(MINUTE);
    const begins = traces.map(({ begins }) => begins[0]!.atUs);
    expect(Math.min(...begins)).toBeGreaterThanOrEqual(10 * S);
    expect(Math.max(...begins) - Math.min(...begins)).toBeGreaterThan(100 * MS);
    expect(new Set(begins).size).toBeGreaterThan(40);
  });

  it("is waited for anew after each attempt: the bound is for one wait, not for all", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: { breaker: null } });
    const target = route.targets[0]!;
    target.cool(15 * S);
    clock.at(15_500 * MS, () => target.cool(30 * S));
    const trace = drive(clock, route, {}, (_, attempt) => {
      return attempt === 0 ? refusal(503) : answer(50 * MS);
    });
    clock.runSync(100 * S);
    expect(trace.failure).toBeUndefined();
    expect(trace.begins).toHaveLength(2);
  });

  it("and asks again and again is not waited for without end", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: { breaker: null } });
    const target = route.targets[0]!;
    target.cool(15 * S);
    clock.at(14 * S, () => target.cool(30 * S));
    const trace = drive(clock, route, {}, () => answer(50 * MS));
    clock.runSync(100 * S);
    expect(trace.failure).toMatchObject({ kind: "no_target", status: 503 });
    expect(trace.endedUs).toBeLessThanOrEqual(16 * S);
  });
});

describe("a caller that does not read", () => {
  it("is given no longer afterwards than the gap, whatever came while it did not", () => {
    const { clock, random } = world();
    const timeouts = { ...CALL_POLICY.timeouts, lifeGapUs: S, progressGapUs: S };
    const route = makeRoute(random, { policy: { timeouts } });
    const trace = drive(clock, route, {}, () => ({
      headUs: 5 * MS,
      contentUs: 50 * MS,
      chunksUs: [9 * S],
    }));
    clock.at(100 * MS, () => trace.pause());
    clock.at(10 * S, () => trace.resume());
    clock.runSync(100 * S);
    expect([trace.failure?.kind, trace.endedUs]).toEqual(["stall_bytes", 11 * S]);
  });
});
