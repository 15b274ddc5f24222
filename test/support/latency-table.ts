/**
 * The fifteen figures by which a simulated run is compared with a real one: TTFT, TPOT and E2E at mean, p50, p90, p95 and
 * p99. The percentiles interpolate between order statistics, at position (n − 1) · p, as the published comparisons do;
 * everywhere else Manx takes the nearest rank.
 */
export interface ServedTimes {
  readonly ttftMs: number;
  readonly tpotMs: number;
  readonly e2eMs: number;
}

export const STATISTICS = ["mean", "p50", "p90", "p95", "p99"] as const;
export const METRICS = ["ttftMs", "tpotMs", "e2eMs"] as const;
type Statistic = (typeof STATISTICS)[number];
type Metric = (typeof METRICS)[number];

export type LatencyTable = Readonly<Record<Metric, Readonly<Record<Statistic, number>>>>;

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** `share` from 0 to 1. */
export function interpolatedQuantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

export function latencyTable(requests: readonly ServedTimes[]): LatencyTable {
  const column = (metric: Metric): Record<Statistic, number> => {
    const values = requests.map((request) => request[metric]);
    return {
      mean: mean(values),
      p50: interpolatedQuantile(values, 0.5),
      p90: interpolatedQuantile(values, 0.9),
      p95: interpolatedQuantile(values, 0.95),
      p99: interpolatedQuantile(values, 0.99),
    };
  };
  return { ttftMs: column("ttftMs"), tpotMs: column("tpotMs"), e2eMs: column("e2eMs") };
}

/** (ours − real) / real in %, by metric and statistic. */
export function signedErrors(ours: LatencyTable, real: LatencyTable): LatencyTable {
  const column = (metric: Metric): Record<Statistic, number> =>
    Object.fromEntries(
      STATISTICS.map((name) => [name, 100 * (ours[metric][name] / real[metric][name] - 1)]),
    ) as Record<Statistic, number>;
  return { ttftMs: column("ttftMs"), tpotMs: column("tpotMs"), e2eMs: column("e2eMs") };
}

/** Mean and largest of the fifteen absolute errors, %. */
export function errorSummary(errors: LatencyTable): { mean: number; max: number } {
  const all = METRICS.flatMap((metric) => STATISTICS.map((name) => Math.abs(errors[metric][name])));
  return { mean: mean(all), max: Math.max(...all) };
}
