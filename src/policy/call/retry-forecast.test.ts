/** Golden scenario G3: three tries of 10 s on calls that take 8 s at the median and 18 s at p95. */
import { describe, expect, it } from "vitest";
import { drive, makeRoute, world } from "../../../test/support/call-world.ts";
import { Random } from "../../clock/index.ts";
import { forecastRetries, type RetryPlan } from "./retry-forecast.ts";

const S = 1_000_000;
/** z of p95. */
const Z_95 = 1.6449;
const SIGMA = Math.log(18 / 8) / Z_95;
const PLAN: RetryPlan = {
  attemptsMax: 3,
  timeoutUs: 10 * S,
  pausesUs: [S, 2 * S],
  deadlineUs: 30 * S,
};

/** Log-normal, of any number of draws. */
function latencies(count: number, dice = new Random(1, "latencies")): number[] {
  return Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - dice.next()));
    const normal = radius * Math.cos(2 * Math.PI * dice.next());
    return Math.round(8 * S * Math.exp(SIGMA * normal));
  });
}

const SAMPLE = latencies(200_000).sort((a, b) => a - b);

describe("G3: three tries of 10 s on calls of 8 s at p50 and 18 s at p95", () => {
  const { byChance, byNature, without, faults } = forecastRetries(SAMPLE, PLAN);

  it("would take p95 to 31 s and p99 to 33 s, at 1.43 times the cost, and 3.4 % would fail, if slowness were chance", () => {
    expect(byChance.p95Us / S).toBeCloseTo(31.4, 0);
    expect(byChance.p99Us / S).toBe(33);
    expect(byChance.costFactor).toBeCloseTo(1.43, 2);
    expect(byChance.failShare).toBeCloseTo(0.034, 2);
  });

  it("would fail 32.5 % at 1.65 times the cost if it lay in the prompts", () => {
    expect(byNature.failShare).toBeCloseTo(0.325, 2);
    expect(byNature.costFactor).toBeCloseTo(1.65, 2);
  });

  it("is refused: it gives up healthy calls, repeats what is slow, and outlasts its caller", () => {
    expect(faults).toEqual(["timeout-within-p90", "retries-what-is-slow", "beyond-deadline"]);
  });

  it("is not what this gateway does: nothing fails, nothing is paid twice, and p95 stays at 18 s", () => {
    expect(without.p95Us / S).toBeCloseTo(18, 0);
    const { clock, random } = world();
    const route = makeRoute(random);
    const drawn = latencies(2_000, new Random(2, "calls"));
    const took: number[] = [];
    let attempts = 0;
    for (const contentUs of drawn) {
      const trace = drive(clock, route, {}, () => ({ headUs: 5_000, contentUs, endUs: contentUs }));
      clock.runSync(clock.nowUs() + 300 * S);
      expect(trace.failure).toBeUndefined();
      attempts += trace.begins.length;
      took.push(trace.endedUs! - trace.begins[0]!.atUs);
    }
    expect(attempts).toBe(drawn.length);
    expect(took.sort((a, b) => a - b)[1_899]! / S).toBeLessThan(20);
  });
});

describe("a forecast", () => {
  it("agrees with the plan played out", () => {
    const dice = new Random(3, "played");
    const plan = { ...PLAN, attemptsMax: 4, pausesUs: [S] };
    const times: number[] = [];
    let attempts = 0;
    let failed = 0;
    for (let call = 0; call < 100_000; call += 1) {
      let atUs = 0;
      let isDone = false;
      for (let attempt = 0; attempt < plan.attemptsMax && !isDone; attempt += 1) {
        if (attempt > 0) atUs += S;
        const latencyUs = SAMPLE[dice.int(SAMPLE.length)]!;
        isDone = latencyUs <= plan.timeoutUs;
        atUs += Math.min(latencyUs, plan.timeoutUs);
        attempts += 1;
      }
      if (!isDone) failed += 1;
      times.push(atUs);
    }
    times.sort((a, b) => a - b);
    const { byChance } = forecastRetries(SAMPLE, plan);
    expect(byChance.costFactor).toBeCloseTo(attempts / 100_000, 2);
    expect(byChance.failShare).toBeCloseTo(failed / 100_000, 2);
    expect(byChance.p95Us / times[94_999]!).toBeCloseTo(1, 1);
    expect(byChance.p99Us / times[98_999]!).toBeCloseTo(1, 1);
  });

  it("finds nothing against a limit that healthy calls keep to", () => {
    const plan = { ...PLAN, timeoutUs: SAMPLE.at(-1)!, attemptsMax: 2, deadlineUs: 1_000 * S };
    const { byChance, without, faults } = forecastRetries(SAMPLE, plan);
    expect(faults).toEqual([]);
    expect(byChance).toEqual(without);
  });
});
