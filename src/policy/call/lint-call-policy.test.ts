import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { CALL_POLICY } from "./call-policy.ts";
import { lintCallPolicy, type TimeoutPolicy } from "./lint-call-policy.ts";

const S = US_PER_S;
const SIGMA = Math.log(18 / 8) / 1.6449;

/** Calls of 8 s at the median and 18 s at p95, log-normal. */
function golden(count: number): number[] {
  const dice = new Random(1, "latencies");
  return Array.from({ length: count }, () => Math.round(8 * S * Math.exp(SIGMA * dice.normal())));
}

const latenciesUs = golden(100_000);
/** What services of 50 ms taught. */
const NAIVE: TimeoutPolicy = {
  attemptsMax: 3,
  timeoutUs: 10 * S,
  pausesUs: [S, 2 * S],
  deadlineUs: 30 * S,
  retriesOnTimeout: true,
};

describe("lintCallPolicy", () => {
  it("G3: tells three tries of 10 s on calls of 8 s and 18 s what they come to", () => {
    const findings = lintCallPolicy(NAIVE, { latenciesUs });
    expect(findings.map(({ code, level }) => [code, level])).toEqual([
      ["timeout-within-p90", "error"],
      ["retries-what-is-slow", "error"],
      ["beyond-deadline", "error"],
    ]);
    expect(findings[0]!.figure).toMatch(
      /^32\.\d % of calls take longer than 10\.0 s \(n 100000\)$/,
    );
    const [, p95, p99, cost, failures] =
      /p95 1[78]\S* s → ([\d.]+) s, p99 2[45]\S* s → ([\d.]+) s, cost ([\d.]+)× to 1.6\d×, failures ([\d.]+) % to 32/
        .exec(findings[1]!.figure)!
        .map(Number);
    expect(p95).toBeCloseTo(31.4, 0);
    expect(p99).toBe(33);
    expect(cost).toBeCloseTo(1.43, 1);
    expect(failures).toBeCloseTo(3.4, 0);
    expect(findings[2]!.figure).toContain("33.0 s, deadline 30.0 s");
  });

  it("finds nothing in this package's own policy on the same calls", () => {
    expect(lintCallPolicy(CALL_POLICY, { latenciesUs })).toEqual([]);
  });

  it("finds a limit that this package's policy sets too low", () => {
    const timeouts = { ...CALL_POLICY.timeouts, firstContentUs: 10 * S };
    const one = lintCallPolicy({ ...CALL_POLICY, timeouts }, { latenciesUs });
    expect(one.map(({ code }) => code)).toEqual(["timeout-within-p90"]);
    const two = lintCallPolicy({ ...CALL_POLICY, timeouts }, { latenciesUs, targets: 2 });
    expect(two.map(({ code }) => code)).toEqual([
      ...["timeout-within-p90", "retries-what-is-slow", "no-deadline"],
    ]);
  });

  it("multiplies what layers do one above the other", () => {
    const [finding] = lintCallPolicy(CALL_POLICY, { attemptsAbove: [4, 3, 1] });
    expect(finding).toMatchObject({
      code: "nested-retries",
      figure: "4 × 3 = 12 attempts for one call",
    });
    const [three] = lintCallPolicy({ ...NAIVE, deadlineUs: 60 * S }, { attemptsAbove: [3, 3] });
    expect(three).toMatchObject({ level: "error", figure: "3 × 3 × 3 = 27 attempts for one call" });
  });

  it("only warns of rare second tries, and of too few calls says nothing", () => {
    const wide = { ...NAIVE, timeoutUs: 60 * S, attemptsMax: 2, deadlineUs: 0, pausesUs: [] };
    const findings = lintCallPolicy(wide, { latenciesUs: [...golden(2_000), 70 * S] });
    expect(findings.map(({ code, level }) => [code, level])).toEqual([
      ["retries-what-is-slow", "warning"],
      ["no-deadline", "warning"],
    ]);
    const codes = lintCallPolicy(NAIVE, { latenciesUs: golden(19) }).map(({ code }) => code);
    expect(codes).toEqual(["beyond-deadline"]);
  });
});
