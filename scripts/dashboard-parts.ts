/** What dashboards are made of, and the queries that they share. */

export interface Line {
  readonly expr: string;
  /** With labels in double braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly text: string;
  readonly unit: "s" | "reqps" | "short" | "percentunit" | "bytes" | "ops";
  readonly lines: readonly Line[];
  /** A verdict in words for 0 and 1 instead of a curve. */
  readonly verdict?: { readonly no: string; readonly yes: string };
  /** Of 24; two stand beside each other by default. */
  readonly width?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly text: string;
  readonly rows: readonly Row[];
}

export const CALLS = 'model=~"$model",upstream=~"$upstream"';
export const RATE = "$__rate_interval";

export function quantile(q: number, metric: string, labels: string, range = RATE): string {
  return `histogram_quantile(${q}, sum by (le) (rate(manx_gateway_${metric}_bucket{${labels}}[${range}])))`;
}

/** p50 for health, p95 for what is promised, p99 for the extremes. */
export function percentiles(metric: string, labels = CALLS): Line[] {
  return [0.5, 0.95, 0.99].map((q) => ({
    expr: quantile(q, metric, labels),
    legend: `p${q * 100}`,
  }));
}

export function rates(metric: string, by: string, labels = CALLS): Line[] {
  const names = by.split(", ").map((name) => `{{${name}}}`);
  return [
    {
      expr: `sum by (${by}) (rate(manx_gateway_${metric}{${labels}}[${RATE}]))`,
      legend: names.join(" "),
    },
  ];
}

export function gauges(metric: string, by: string, labels = ""): Line[] {
  const names = by.split(", ").map((name) => `{{${name}}}`);
  const matchers = labels === "" ? "" : `{${labels}}`;
  return [{ expr: `sum by (${by}) (manx_gateway_${metric}${matchers})`, legend: names.join(" ") }];
}
