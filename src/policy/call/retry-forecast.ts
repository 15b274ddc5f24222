/**
 * What a plan of "time out and try again" would do to calls whose latencies are known: the plan that 50 ms services taught
 * and that calls of 10 s turn against their owner. Two worlds bound the truth, since nobody knows why a call was slow:
 *
 * - by chance: each attempt draws anew, and a retry usually helps;
 * - by nature: the prompt is what makes it slow, and each attempt takes as long as the first.
 *
 * Exact on the latencies that are given; nothing is drawn.
 */
import { assert } from "../../core/index.ts";

export interface RetryPlan {
  readonly attemptsMax: number;
  /** Of one attempt, from its begin. */
  readonly timeoutUs: number;
  /** Before the second attempt, the third …; the last one stands for all further ones. Empty for none. */
  readonly pausesUs: readonly number[];
  /** Of the whole call; infinite if the caller sets none. */
  readonly deadlineUs: number;
}

export interface RetryOutcome {
  /** Of all calls, those that fail at the time of their failure. */
  readonly p95Us: number;
  readonly p99Us: number;
  /** Attempts per call: what the provider is paid for. */
  readonly costFactor: number;
  readonly failShare: number;
}

export type RetryFault =
  /** Of latencies: one healthy call in ten, or more, is given up. */
  | "timeout-within-p90"
  /** Slow is taken for failed: work is thrown away and asked for again. */
  | "retries-what-is-slow"
  /** All attempts together take longer than the caller waits. */
  | "beyond-deadline";

export interface RetryForecast {
  readonly byChance: RetryOutcome;
  readonly byNature: RetryOutcome;
  /** Nothing timed out and nothing repeated. */
  readonly without: RetryOutcome;
  /** Empty for a plan that can stay. */
  readonly faults: readonly RetryFault[];
}

/** @param latenciesUs of calls that were left alone, ascending, at least one. */
export function forecastRetries(latenciesUs: readonly number[], plan: RetryPlan): RetryForecast {
  const { attemptsMax, timeoutUs, deadlineUs } = plan;
  assert(latenciesUs.length > 0, "a forecast rests on at least one latency");
  assert(attemptsMax >= 1 && timeoutUs > 0, "a plan has an attempt, and time for it");
  const slowShare = shareAbove(latenciesUs, timeoutUs);
  const beginsUs = attemptBegins(plan);
  const lastUs = beginsUs.at(-1)! + timeoutUs;
  const faults: RetryFault[] = [];
  if (timeoutUs <= quantile(latenciesUs, 0.9)) faults.push("timeout-within-p90");
  if (attemptsMax > 1 && slowShare > 0) faults.push("retries-what-is-slow");
  if (lastUs > deadlineUs) faults.push("beyond-deadline");
  return {
    byChance: byChance(latenciesUs, slowShare, beginsUs, lastUs),
    byNature: {
      ...tail((share) => (share <= 1 - slowShare ? quantile(latenciesUs, share) : lastUs)),
      costFactor: 1 - slowShare + slowShare * attemptsMax,
      failShare: slowShare,
    },
    without: { ...tail((share) => quantile(latenciesUs, share)), costFactor: 1, failShare: 0 },
    faults,
  };
}

function byChance(
  latenciesUs: readonly number[],
  slowShare: number,
  beginsUs: readonly number[],
  lastUs: number,
): RetryOutcome {
  /** Share of calls that come to the nth attempt, from 0. */
  const reach = (attempt: number): number => slowShare ** attempt;
  const at = (share: number): number => {
    for (const [attempt, beginUs] of beginsUs.entries()) {
      const before = 1 - reach(attempt);
      if (share > 1 - reach(attempt + 1)) continue;
      return beginUs + quantile(latenciesUs, (share - before) / reach(attempt));
    }
    return lastUs;
  };
  const costFactor = beginsUs.reduce((sum, _, attempt) => sum + reach(attempt), 0);
  return { ...tail(at), costFactor, failShare: reach(beginsUs.length) };
}

function tail(at: (share: number) => number): Pick<RetryOutcome, "p95Us" | "p99Us"> {
  return { p95Us: at(0.95), p99Us: at(0.99) };
}

/** When each attempt begins if all before it time out. */
function attemptBegins({ attemptsMax, timeoutUs, pausesUs }: RetryPlan): number[] {
  const begins = [0];
  while (begins.length < attemptsMax) {
    const pauseUs = pausesUs[begins.length - 1] ?? pausesUs.at(-1) ?? 0;
    begins.push(begins.at(-1)! + timeoutUs + pauseUs);
  }
  return begins;
}

function shareAbove(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return 1 - low / ascending.length;
}

function quantile(ascending: readonly number[], share: number): number {
  const rank = Math.ceil(share * ascending.length - 1e-9);
  return ascending[Math.min(ascending.length, Math.max(1, rank)) - 1]!;
}
