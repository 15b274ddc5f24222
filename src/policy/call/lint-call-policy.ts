/**
 * What a policy of retries will do, told before it does it: by its own numbers, and on the latencies that calls really have.
 * For the rules of this package, and for those of others: an SDK's time-out and number of retries, a gateway's file.
 */
import { assert, formatUs } from "../../core/index.ts";
import type { CallPolicy } from "./call-policy.ts";
import { forecastRetries, type RetryForecast } from "./retry-forecast.ts";

/** "Time out and try again", whoever does it. */
export interface TimeoutPolicy {
  /** In all. */
  readonly attemptsMax: number;
  /** Of one attempt; 0 = none. */
  readonly timeoutUs: number;
  /** Before the second attempt, the third …; the last one stands for all further ones. */
  readonly pausesUs: readonly number[];
  /** Of the whole call; 0 = none. */
  readonly deadlineUs: number;
  /** What has timed out is asked for again. */
  readonly retriesOnTimeout: boolean;
}

export interface ObservedCalls {
  /**
   * Of calls that were left alone, in any order: to the first content for streams, to the end for others. They are what the
   * time-out is held against. Empty: nobody knows.
   */
  readonly latenciesUs?: readonly number[];
  /** Attempts that each layer above makes by itself, such as 3 for an SDK with two retries; 1 = none. */
  readonly attemptsAbove?: readonly number[];
  /** Places that an attempt can go to. A policy of this package repeats what was silent only elsewhere. Default 1. */
  readonly targets?: number;
}

export type PolicyFault =
  /** One healthy call in ten, or more, is given up. */
  | "timeout-within-p90"
  /** Slow is taken for failed: it is paid for again, and comes later. */
  | "retries-what-is-slow"
  /** All attempts together take longer than the caller waits. */
  | "beyond-deadline"
  /** Nothing bounds what all attempts take together. */
  | "no-deadline"
  /** Several layers retry: their attempts multiply. */
  | "nested-retries";

export interface PolicyFinding {
  readonly code: PolicyFault;
  /** An error makes things worse than no retries at all. */
  readonly level: "error" | "warning";
  readonly what: string;
  /** What it comes to, in words. */
  readonly figure: string;
  readonly advice: string;
}

/** Fewer calls than this have no P90 to speak of. */
const CALLS_MIN = 20;
/** More of all calls, paid again for being slow, are no rare accident. */
const EXTRA_COST_MAX = 0.05;
const FAIL_SHARE_MAX = 0.01;

/** @returns worst first; empty for a policy that can stay. */
export function lintCallPolicy(
  policy: CallPolicy | TimeoutPolicy,
  observed: ObservedCalls = {},
): readonly PolicyFinding[] {
  const plan = "timeouts" in policy ? planOf(policy, observed.targets ?? 1) : policy;
  const { latenciesUs = [] } = observed;
  assert(plan.attemptsMax >= 1, "a policy has an attempt");
  const isKnown = latenciesUs.length >= CALLS_MIN && plan.timeoutUs > 0;
  const findings = [
    ...(isKnown ? lintObserved(plan, latenciesUs) : []),
    ...lintDeadline(plan),
    ...lintLayers(plan, observed.attemptsAbove ?? []),
  ];
  return findings.sort((a, b) => Number(b.level === "error") - Number(a.level === "error"));
}

/** A policy of this package as what it does to a stream that is silent. */
function planOf(policy: CallPolicy, targets: number): TimeoutPolicy {
  const { timeouts, retry, deadlineUs } = policy;
  return {
    attemptsMax: Math.min(retry.attemptsMax, targets),
    timeoutUs: timeouts.firstContentUs,
    // To another target it goes at once.
    pausesUs: [],
    deadlineUs,
    retriesOnTimeout: retry.attemptsMax > 1 && targets > 1,
  };
}

function lintObserved(plan: TimeoutPolicy, latenciesUs: readonly number[]): PolicyFinding[] {
  const { timeoutUs, retriesOnTimeout, deadlineUs, pausesUs } = plan;
  const ascending = [...latenciesUs].sort((a, b) => a - b);
  const forecast = forecastRetries(ascending, {
    attemptsMax: retriesOnTimeout ? plan.attemptsMax : 1,
    timeoutUs,
    pausesUs,
    deadlineUs: deadlineUs === 0 ? Number.POSITIVE_INFINITY : deadlineUs,
  });
  const findings: PolicyFinding[] = [];
  const n = latenciesUs.length;
  if (forecast.faults.includes("timeout-within-p90")) {
    findings.push({
      code: "timeout-within-p90",
      level: "error",
      what: "the time-out gives up calls that are well",
      figure: `${percent(forecast.byNature.failShare)} of calls take longer than ${formatUs(timeoutUs)} (n ${n})`,
      advice:
        "set it well above P99, or use limits by phase: to the first content, between two outputs",
    });
  }
  if (forecast.faults.includes("retries-what-is-slow")) findings.push(slowFinding(forecast, n));
  return findings;
}

function slowFinding({ byChance, byNature, without }: RetryForecast, n: number): PolicyFinding {
  const isWorse =
    byChance.p99Us > without.p99Us ||
    byChance.costFactor > 1 + EXTRA_COST_MAX ||
    byNature.failShare > FAIL_SHARE_MAX;
  const from = (before: number, after: number): string =>
    `${formatUs(before)} → ${formatUs(after)}`;
  return {
    code: "retries-what-is-slow",
    level: isWorse ? "error" : "warning",
    what: "slow is taken for failed and asked for again",
    figure:
      `p95 ${from(without.p95Us, byChance.p95Us)}, p99 ${from(without.p99Us, byChance.p99Us)}, ` +
      `cost ${byChance.costFactor.toFixed(2)}× to ${byNature.costFactor.toFixed(2)}×, ` +
      `failures ${percent(byChance.failShare)} to ${percent(byNature.failShare)} (n ${n})`,
    advice:
      "retry what has failed; hedge what is slow, at P95 of its prompt's size and within a budget",
  };
}

function lintDeadline(plan: TimeoutPolicy): PolicyFinding[] {
  const { attemptsMax, timeoutUs, pausesUs, deadlineUs, retriesOnTimeout } = plan;
  if (!retriesOnTimeout || attemptsMax === 1 || timeoutUs === 0) return [];
  let totalUs = timeoutUs;
  for (let attempt = 1; attempt < attemptsMax; attempt += 1) {
    totalUs += timeoutUs + (pausesUs[attempt - 1] ?? pausesUs.at(-1) ?? 0);
  }
  const figure = `${attemptsMax} × ${formatUs(timeoutUs)} with pauses: ${formatUs(totalUs)}`;
  if (deadlineUs === 0) {
    return [
      {
        ...{ code: "no-deadline", level: "warning", figure },
        what: "nothing bounds what all attempts take together",
        advice: "set one deadline over all of them",
      },
    ];
  }
  if (totalUs <= deadlineUs) return [];
  return [
    {
      ...{ code: "beyond-deadline", level: "error" },
      what: "all attempts together take longer than the caller waits",
      figure: `${figure}, deadline ${formatUs(deadlineUs)}`,
      advice: "fewer attempts; a try that cannot end in time need not begin",
    },
  ];
}

function lintLayers({ attemptsMax }: TimeoutPolicy, above: readonly number[]): PolicyFinding[] {
  const layers = [...above, attemptsMax].filter((attempts) => attempts > 1);
  if (layers.length < 2) return [];
  const most = layers.reduce((product, attempts) => product * attempts, 1);
  return [
    {
      ...{ code: "nested-retries", level: "error" },
      what: "several layers retry, and their attempts multiply",
      figure: `${layers.join(" × ")} = ${most} attempts for one call`,
      advice: "retry at one layer; the others pass on what it says (SDKs: maxRetries: 0)",
    },
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
