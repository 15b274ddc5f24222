/** Laws of a call over random worlds, and the rules that no law covers. */
import { describe, expect, it } from "vitest";
import { answer, drive, makeRoute, refusal, world } from "../../../test/support/call-world.ts";
import { playRandomCall } from "../../../test/support/random-call.ts";
import { playRandomRoute } from "../../../test/support/random-route.ts";
import { CALL_POLICY } from "./call-policy.ts";

const MS = 1_000;
const S = 1_000_000;

describe("a call in any world", () => {
  // The driver asserts after each decision; 100,000 seeds run by `npm run fuzz:call`.
  it("ends once, by its deadline, with every attempt accounted for", () => {
    for (let seed = 0; seed < 2_000; seed += 1) expect(() => playRandomCall(seed)).not.toThrow();
  });
});

describe("the calls of one route in any world", () => {
  it("keep to their budgets, to one probe at a time, and off what is ill, busy or has asked for a pause", () => {
    for (let seed = 0; seed < 300; seed += 1) expect(() => playRandomRoute(seed)).not.toThrow();
  });
});

describe("retry", () => {
  it("goes to another target at once and to the same one after a pause", () => {
    for (const targets of [1, 2]) {
      const { clock, random } = world();
      const trace = drive(clock, makeRoute(random, { targets }), {}, (_, attempt) => {
        return attempt === 0 ? refusal(503) : answer(50 * MS);
      });
      clock.runSync(10 * S);
      expect(trace.begins.map(({ cause }) => cause)).toEqual([
        "first",
        targets === 1 ? "retry" : "failover",
      ]);
      const pauseUs = trace.begins[1]!.atUs - 20 * MS;
      if (targets === 2) expect(pauseUs).toBe(0);
      else expect(pauseUs).toBeGreaterThanOrEqual(125 * MS);
      expect(trace.failure).toBeUndefined();
    }
  });

  it("never re-sends to the same target what may still be running there", () => {
    const { clock, random } = world();
    const timeouts = { ...CALL_POLICY.timeouts, firstContentUs: S };
    const trace = drive(clock, makeRoute(random, { policy: { timeouts } }), {}, () => ({
      headUs: 5 * MS,
    }));
    clock.runSync(100 * S);
    expect(trace.begins).toHaveLength(1);
    expect(trace.failure?.kind).toBe("timeout_first_content");
  });

  it("takes silence after a head for what it is: another target gets the call, the same one does not", () => {
    const timeouts = { ...CALL_POLICY.timeouts, lifeGapUs: S };
    for (const targets of [1, 2]) {
      const { clock, random } = world();
      const route = makeRoute(random, { targets, orders: [0, 1], policy: { timeouts } });
      const trace = drive(clock, route, {}, (target) => {
        return target === 0 ? { headUs: 5 * MS } : answer(50 * MS);
      });
      clock.runSync(100 * S);
      expect(trace.begins.map(({ target }) => target)).toEqual(targets === 1 ? [0] : [0, 1]);
      expect(trace.failure?.kind).toBe(targets === 1 ? "stall_bytes" : undefined);
    }
  });

  it("does not begin what cannot end in time", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: { deadlineUs: 2 * S } });
    for (let i = 0; i < 30; i += 1) route.targets[0]!.ttft.record(500, 1_900 * MS);
    const trace = drive(clock, route, {}, () => refusal(503, undefined, 300 * MS));
    clock.runSync(10 * S);
    expect(trace.begins).toHaveLength(1);
    expect(trace.failure?.kind).toBe("status");
    expect(trace.endedUs).toBe(300 * MS);
  });

  it("keeps retries within their share of the traffic when everything is refused", () => {
    const { clock, random } = world();
    const route = makeRoute(random, {
      retryFill: 0,
      policy: { breaker: null },
      sharesLimits: false,
    });
    let begun = 0;
    for (let i = 0; i < 1_000; i += 1) {
      const trace = drive(clock, route, {}, () => refusal(429));
      clock.runSync(clock.nowUs() + 30 * S);
      begun += trace.begins.length;
    }
    expect(begun).toBeGreaterThan(1_050);
    expect(begun).toBeLessThanOrEqual(1_100);
    expect(route.retries.spentTokens).toBeLessThanOrEqual(0.1 * 1_000 * 500);
  });
});

describe("breaker", () => {
  it("keeps calls off a target that fails and tries it again with one", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { targets: 2, orders: [0, 1] });
    let isIll = true;
    const hits = [0, 0];
    const play = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        drive(clock, route, {}, (target) => {
          hits[target]! += 1;
          return target === 0 && isIll ? refusal(500) : answer(50 * MS);
        });
        clock.runSync(clock.nowUs() + 200 * MS);
      }
    };
    play(60);
    expect(hits[0]).toBeLessThan(35);
    expect(hits[1]).toBe(60);
    isIll = false;
    play(100);
    expect(hits[1]).toBeLessThan(130);
    expect(route.targets[0]!.breakerAt(clock.nowUs())).toBe("closed");
  });

  it("does not take away the only target because it is slow", () => {
    const { clock, random } = world();
    const breaker = { ...CALL_POLICY.breaker!, slowUs: 100 * MS };
    const route = makeRoute(random, { policy: { breaker } });
    for (let i = 0; i < 100; i += 1) {
      const trace = drive(clock, route, {}, () => answer(400 * MS));
      clock.runSync(clock.nowUs() + S);
      expect(trace.failure).toBeUndefined();
    }
    expect(route.targets[0]!.breakerOpened).toBeGreaterThan(0);
  });
});
