/**
 * One figure a row, in the long form that spreadsheets pivot and data frames read: no cell holds two things, and n is in
 * each row. Plain numbers in the unit of the row's own column, durations in microseconds; an empty cell is "not known".
 */
import type { ResultDocument, ResultRun } from "../load/index.ts";
import { isGrey } from "./figure.ts";

const COLUMNS = [
  "section",
  "run",
  "measure",
  "statistic",
  "unit",
  "value",
  "low",
  "high",
  "n",
  "grey",
] as const;

type CsvRow = Partial<Record<(typeof COLUMNS)[number], string | number | boolean | null>>;

export function renderCsv(document: ResultDocument): string {
  const rows = [
    ...document.comparisons.flatMap(comparisonRows),
    ...document.runs.flatMap((run) => [
      ...metricRows(run),
      ...gaugeRows(run),
      ...countRows(run),
      ...stallRows(run),
      ...goodputRows(run),
      ...verdictRows(run),
    ]),
  ];
  const lines = rows.map((row) => COLUMNS.map((column) => csvField(row[column])).join(","));
  return `${[COLUMNS.join(","), ...lines].join("\n")}\n`;
}

/** Quoted by RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front, which it hides. */
function csvField(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return Number.isNaN(value) ? "" : String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function comparisonRows(comparison: ResultDocument["comparisons"][number]): CsvRow[] {
  return comparison.rows.flatMap(({ title, unit, cells }) =>
    cells.map(({ run, value, low, high, n, grey }) => ({
      section: `comparison: ${comparison.title}`,
      run,
      measure: title,
      statistic: "value",
      unit,
      value,
      low,
      high,
      n,
      grey,
    })),
  );
}

function metricRows(run: ResultRun): CsvRow[] {
  return Object.entries(run.metrics).flatMap(([measure, { unit, histogram, quantiles }]) => {
    const { n, sum, min, max } = histogram;
    const base = { section: "metric", run: run.name, measure, unit, n };
    return [
      ...quantiles.map(({ q, value, low, high, beyond }) => ({
        ...base,
        statistic: `p${Number((q * 100).toFixed(6))}`,
        value,
        low,
        high,
        grey: isGrey(beyond),
      })),
      { ...base, statistic: "min", value: min },
      { ...base, statistic: "max", value: max },
      { ...base, statistic: "mean", value: n === 0 ? null : sum / n },
    ];
  });
}

function gaugeRows(run: ResultRun): CsvRow[] {
  return Object.entries(run.gauges).map(([measure, { unit, value, low, high, n }]) => ({
    section: "gauge",
    run: run.name,
    measure,
    statistic: "value",
    unit,
    value,
    low: low ?? null,
    high: high ?? null,
    n,
  }));
}

function countRows({ name, counts }: ResultRun): CsvRow[] {
  const { failures, ...totals } = counts;
  const all = [
    ...Object.entries(totals),
    ...Object.entries(failures).map(([kind, count]) => [`failed: ${kind}`, count] as const),
  ];
  return all.map(([measure, value]) => ({
    section: "count",
    run: name,
    measure,
    statistic: "count",
    unit: "count",
    value,
    n: counts.offered,
  }));
}

function stallRows({ name, stalls }: ResultRun): CsvRow[] {
  if (stalls === null) return [];
  const base = { section: "stalls", run: name, n: stalls.streams };
  return [
    {
      ...base,
      measure: "streams with a stall",
      statistic: "share",
      unit: "share",
      value: stalls.share,
    },
    { ...base, measure: "worst gap", statistic: "max", unit: "us", value: stalls.worstGapUs },
    { ...base, measure: "stalled time", statistic: "sum", unit: "us", value: stalls.stalledUs },
  ];
}

function goodputRows({ name, counts, goodput }: ResultRun): CsvRow[] {
  if (goodput === null) return [];
  const base = { section: "goodput", run: name, measure: "goodput", n: counts.offered };
  return [
    { ...base, statistic: "rate", unit: "per-s", value: goodput.perS },
    { ...base, statistic: "share", unit: "share", value: goodput.shareOfOffered },
  ];
}

function verdictRows({ name, verdicts }: ResultRun): CsvRow[] {
  return verdicts.map((verdict) => ({
    section: "verdict",
    run: name,
    measure: verdict.name,
    statistic: "status",
    value: verdict.status,
  }));
}
