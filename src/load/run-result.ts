/** What a collector holds, as a run of the result document. */
import { US_PER_S } from "../core/index.ts";
import { type Histogram, intervalRanks, quantileRank } from "../stats/index.ts";
import type { RequestBudgets } from "./budgets.ts";
import type { Collector } from "./collector.ts";
import { METRIC_LABELS, type MetricName, toDistribution } from "./distribution.ts";
import type { ResultGauge, ResultRun } from "./result-document.ts";
import { runVerdicts } from "./run-verdicts.ts";

/** What the run was, in words; goes into the conditions as it is. */
export interface RunDescription {
  readonly name: string;
  readonly world: ResultRun["world"];
  readonly seed: number | null;
  readonly conditions: Pick<
    ResultRun["conditions"],
    "target" | "arrivals" | "workload" | "temperature" | "cacheMode" | "setup"
  >;
}

export interface RunLimits {
  readonly budgets?: RequestBudgets;
  /** Above this share of failures no percentile is believed. Default 0.01. */
  readonly errorRateMax?: number;
  /** Least share of offered requests that must meet the budgets. Default 0.99. */
  readonly goodputMin?: number;
  /** The target's own limit, for the text of figures that failed requests push beyond it. */
  readonly timeoutUs?: number;
}

/** What the pacer knows of the run. */
export interface RunShape {
  readonly spanUs: number;
  readonly elapsedUs: number;
  readonly arrivals: { ratePerS: number; dispersion: number | null; windows: number };
  readonly loopLag: Histogram;
  readonly concurrencyMax: number | null;
  /** Sent and not over when the run was stopped: in no figure. */
  readonly open: number;
  /** The same, not even sent. */
  readonly waiting: number;
}

export function toLoadRun(
  options: RunDescription & RunLimits,
  collector: Collector,
  shape: RunShape,
): ResultRun {
  const { errorRateMax = 0.01, goodputMin = 0.99 } = options;
  const { spanUs, loopLag, concurrencyMax } = shape;
  const over = collector.completed + collector.failed;
  const hasBudgets = Object.keys(collector.budgets).length > 0;
  const histograms: Partial<Record<MetricName, Histogram>> = {
    ...collector.histograms,
    ...(loopLag.n > 0 && { loopLagUs: loopLag }),
  };
  return {
    name: options.name,
    world: options.world,
    durationUs: shape.elapsedUs,
    seed: options.seed,
    conditions: {
      ...options.conditions,
      measuredAt: "client",
      offeredPerS: shape.arrivals.ratePerS,
      concurrencyCap: concurrencyMax,
    },
    counts: {
      offered: over,
      sent: collector.sentCount - shape.open,
      completed: collector.completed,
      failed: collector.failed,
      empty: collector.empty,
      failures: { ...collector.failures },
    },
    metrics: Object.fromEntries(
      (Object.keys(METRIC_LABELS) as MetricName[]).flatMap((name) => {
        const histogram = histograms[name];
        return histogram === undefined
          ? []
          : [[name, toDistribution(histogram, METRIC_LABELS[name])]];
      }),
    ),
    gauges: {
      ...adjustedGauges(collector, options.timeoutUs),
      ...trafficGauges(collector, shape),
      ...wireGauges(collector),
    },
    stalls:
      collector.stalls.streams === 0
        ? null
        : { ...collector.stalls, share: collector.stalls.stalled / collector.stalls.streams },
    goodput: hasBudgets
      ? {
          budgets: { ...collector.budgets },
          met: collector.met,
          perS: perS(collector.met, spanUs),
          shareOfOffered: over === 0 ? 0 : collector.met / over,
        }
      : null,
    verdicts: runVerdicts(collector, { loopLag, concurrencyMax, errorRateMax, goodputMin }),
  };
}

function perS(count: number, spanUs: number): number {
  return spanUs === 0 ? 0 : (count * US_PER_S) / spanUs;
}

const COALESCED_BELOW_US = 1_000;

const ADJUSTED = [0.5, 0.9, 0.95, 0.99] as const;

/**
 * Percentiles over successes and failures together, a failure being slower than any success; null where the rank falls
 * among the failures, which is to say beyond every limit. Given only if there are failures.
 */
function adjustedGauges(
  collector: Collector,
  timeoutUs: number | undefined,
): Record<string, ResultGauge> {
  const gauges: Record<string, ResultGauge> = {};
  if (collector.failed + collector.empty === 0) return gauges;
  for (const [name, title, failed] of [
    // A stream that ended well without any output never had a first one.
    ["ttftUs", "TTFT", collector.failed + collector.empty],
    ["e2eUs", "E2E", collector.failed],
  ] as const) {
    const histogram = collector.histograms[name];
    if (histogram === undefined || failed === 0) continue;
    const n = histogram.n + failed;
    const atRank = (rank: number | null): number | null =>
      rank === null || rank > histogram.n ? null : histogram.atRank(rank);
    for (const q of ADJUSTED) {
      const value = atRank(quantileRank(q, n));
      const ranks = intervalRanks(q, n);
      const beyond =
        timeoutUs === undefined
          ? "not met: it falls among the failures"
          : `not met: it falls among the failures, beyond ${timeoutUs / 1_000} ms`;
      gauges[`${name.slice(0, -2)}P${q * 100}AdjustedUs`] = {
        title: `${title} p${q * 100}, failures counted as slowest`,
        unit: "us",
        value,
        low: atRank(ranks.low),
        high: atRank(ranks.high),
        n,
        basis: value === null ? beyond : "successes and failures",
      };
    }
  }
  return gauges;
}

/** What was asked for, what went out and what came back. */
function trafficGauges(collector: Collector, shape: RunShape): Record<string, ResultGauge> {
  const { spanUs, elapsedUs, arrivals } = shape;
  const over = collector.completed + collector.failed;
  return {
    errorRate: {
      title: "failed requests",
      unit: "share",
      value: share(collector.failed, over),
      n: over,
      basis: "of all that were offered",
    },
    completedPerS: {
      title: "completed",
      unit: "per-s",
      value: elapsedUs === 0 ? null : perS(collector.completed, elapsedUs),
      n: collector.completed,
      basis: "until the last response",
    },
    outputTokensPerS: {
      title: "output tokens",
      unit: "per-s",
      value:
        elapsedUs === 0 || collector.countedTokens === 0
          ? null
          : perS(collector.outputTokens, elapsedUs),
      n: collector.countedTokens,
      basis: "as the server counted them, until the last response",
    },
    achievedPerS: {
      title: "sent",
      unit: "per-s",
      value: spanUs === 0 ? null : perS(collector.sentCount, spanUs),
      n: collector.sentCount,
      basis: "over the time that requests were intended in",
    },
    dispersion: {
      title: "index of dispersion of the intended starts",
      unit: "ratio",
      value: arrivals.dispersion,
      n: arrivals.windows,
      basis: "variance over mean of counts in equal windows: constant 0, Poisson 1",
    },
    interrupted: {
      title: "requests given up when the run was stopped",
      unit: "count",
      value: shape.open + shape.waiting,
      n: collector.offered,
      basis: "in no other figure",
    },
  };
}

/** What the connections and the server did beside answering. */
function wireGauges(collector: Collector): Record<string, ResultGauge> {
  const gaps = collector.histograms.chunkGapUs;
  const connections = collector.connections.new + collector.connections.reused;
  return {
    connectionReuse: {
      title: "requests on a connection that was open",
      unit: "share",
      value: share(collector.connections.reused, connections),
      n: connections,
      basis: "of all that had a connection",
    },
    coalesced: {
      title: "chunk gaps below 1 ms",
      unit: "share",
      value: gaps === undefined ? null : gaps.shareAtMost(COALESCED_BELOW_US - 1),
      n: gaps?.n ?? 0,
      basis: "many of them mean that something on the way gathers chunks",
    },
    cachedPrompt: {
      title: "prompt tokens from the server's prefix cache",
      unit: "share",
      value: share(collector.cachedTokens, collector.promptTokens),
      n: collector.completed,
      basis: "as the server counted them",
    },
  };
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
