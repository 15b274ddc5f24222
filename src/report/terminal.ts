/**
 * A result for a terminal: what was compared as one table each, other runs as rows of percentiles, verdicts in words, and
 * one command to try next as the last line. Marked `~`: fewer than ten samples beyond.
 */
import type {
  ResultComparison,
  ResultComparisonRow,
  ResultDocument,
  ResultRun,
} from "../load/index.ts";
import { formatFigure, formatPlain, isGrey, NO_FIGURE } from "./figure.ts";
import { COLOUR_INK, type Ink, PLAIN_INK } from "./ink.ts";
import { oneLine } from "./printable.ts";
import { type TextCell, textTable, wrapText } from "./text-table.ts";

export interface TerminalOptions {
  /** Default false. */
  readonly color?: boolean;
  /** Width of the terminal, characters. Default 100. */
  readonly columns?: number;
}

const COLUMNS_MIN = 60;

export function renderTerminal(document: ResultDocument, options: TerminalOptions = {}): string {
  const page: Page = {
    ink: options.color === true ? COLOUR_INK : PLAIN_INK,
    columns: Math.max(COLUMNS_MIN, options.columns ?? 100),
  };
  const compared = new Set(
    document.comparisons.flatMap(({ columns }) => columns.map(({ run }) => run)),
  );
  const blocks = [
    ...document.comparisons.map((comparison) => comparisonBlock(comparison, page)),
    ...document.runs.filter((run) => !compared.has(run.name)).map((run) => runBlock(run, page)),
    comparedVerdicts(
      document.runs.filter((run) => compared.has(run.name)),
      page,
    ),
    noteBlock(document, page),
    [`next: ${page.ink.bold(oneLine(document.next))}`],
  ];
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join("\n"))
    .join("\n\n")}\n`;
}

interface Page {
  readonly ink: Ink;
  readonly columns: number;
}

function comparisonBlock(comparison: ResultComparison, page: Page): string[] {
  const { ink, columns } = page;
  const hasPublished = comparison.rows.some((row) => row.published !== null);
  const heads = [
    ...comparison.columns.map(({ title }) => title),
    "n",
    ...(hasPublished ? ["published"] : []),
  ];
  const rows = comparison.rows.map((row): TextCell[] => [
    { text: row.title },
    ...comparison.columns.map(({ run, status }) =>
      status === "next" ? { text: "next", paint: ink.dim } : figureCell(row, run, ink),
    ),
    { text: sharedN(row), paint: ink.dim },
    ...(hasPublished ? [{ text: publishedText(row), paint: ink.dim }] : []),
  ]);
  const remarks = comparison.rows.filter(({ remark }) => remark !== "");
  return [
    ...wrapText(comparison.title, columns).map(ink.bold),
    ...textTable([...headRows(heads, ink), ...rows], columns),
    ...remarks.flatMap(({ title, remark }) =>
      indented(`${title}: ${remark}`, columns).map(ink.dim),
    ),
    ...(comparison.source === ""
      ? []
      : indented(`published: ${comparison.source}`, columns).map(ink.dim)),
  ];
}

const HEAD_WIDTH = 11;

/** Column titles, each wrapped to a narrow column and standing on the last line. */
function headRows(titles: readonly string[], ink: Ink): TextCell[][] {
  const wrapped = titles.map((title) => wrapText(title, HEAD_WIDTH));
  const height = Math.max(1, ...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => [
    { text: "" },
    ...wrapped.map((lines) => ({
      text: lines[line - (height - lines.length)] ?? "",
      paint: ink.dim,
    })),
  ]);
}

function figureCell(row: ResultComparisonRow, run: string | null, ink: Ink): TextCell {
  const cell = row.cells.find((one) => one.run === run);
  if (cell === undefined) return { text: NO_FIGURE, paint: ink.dim };
  const text = formatFigure(cell.value, row.unit);
  return cell.grey ? { text: `~${text}`, paint: ink.dim } : { text };
}

/** The n of all figures of a row, or the smallest with a sign that others are larger. */
function sharedN(row: ResultComparisonRow): string {
  const sizes = row.cells.map(({ n }) => n);
  if (sizes.length === 0) return "0";
  const least = Math.min(...sizes);
  return `${sizes.some((n) => n !== least) ? "≥ " : ""}${formatPlain(least)}`;
}

function publishedText(row: ResultComparisonRow): string {
  if (row.published === null) return NO_FIGURE;
  const { before, after } = row.published;
  return `${formatFigure(before, row.unit)} → ${formatFigure(after, row.unit)}`;
}

const RUN_QUANTILES = [0.5, 0.9, 0.95, 0.99, 0.999] as const;

function runBlock(run: ResultRun, page: Page): string[] {
  const { ink, columns } = page;
  const { conditions, counts } = run;
  const head = ["", "n", "p50", "p90", "p95", "p99", "p99.9", "max"].map((text) => ({
    text,
    paint: ink.dim,
  }));
  const rows = Object.values(run.metrics).map((metric): TextCell[] => [
    { text: metric.title },
    { text: formatPlain(metric.histogram.n), paint: ink.dim },
    ...RUN_QUANTILES.map((wanted): TextCell => {
      const quantile = metric.quantiles.find(({ q }) => q === wanted);
      const text = formatFigure(quantile?.value, metric.unit);
      return quantile !== undefined && quantile.n > 0 && isGrey(quantile.beyond)
        ? { text: `~${text}`, paint: ink.dim }
        : { text };
    }),
    { text: formatFigure(metric.histogram.max, metric.unit) },
  ]);
  const failures = Object.entries(counts.failures).map(([name, n]) => `${name} ${n}`);
  return [
    ...wrapText(`${run.name}: ${conditions.target}`, columns).map(ink.bold),
    ...indented(conditionText(run), columns).map(ink.dim),
    ...textTable([head, ...rows], columns),
    ...indented(
      `${formatPlain(counts.completed)} of ${formatPlain(counts.offered)} completed` +
        (counts.failed > 0
          ? `, ${formatPlain(counts.failed)} failed (${failures.join(", ")})`
          : "") +
        (counts.empty > 0 ? `, ${formatPlain(counts.empty)} without output` : ""),
      columns,
    ),
    ...stallLines(run, columns),
    ...goodputLines(run, columns),
    ...run.verdicts.flatMap((verdict) => verdictLines(verdict, page)),
  ];
}

function conditionText(run: ResultRun): string {
  const { conditions } = run;
  const cap =
    conditions.concurrencyCap === null ? "" : `, at most ${conditions.concurrencyCap} open`;
  const seed = run.seed === null ? "" : `, seed ${run.seed}`;
  return (
    `${run.world}, ${formatPlain(conditions.offeredPerS)}/s offered (${conditions.arrivals})${cap}, ` +
    `${conditions.workload}, ${conditions.temperature}, prefix cache ${conditions.cacheMode}, ` +
    `measured at the ${conditions.measuredAt}${seed}`
  );
}

function stallLines(run: ResultRun, columns: number): string[] {
  if (run.stalls === null) return [];
  const { streams, stalled, share, worstGapUs, stalledUs } = run.stalls;
  const text =
    stalled === 0
      ? `no stall in ${formatPlain(streams)} streams, largest gap ${formatFigure(worstGapUs, "us")}`
      : `stalls in ${formatPlain(stalled)} of ${formatPlain(streams)} streams (${formatFigure(share, "share")}), ` +
        `worst gap ${formatFigure(worstGapUs, "us")}, ${formatFigure(stalledUs, "us")} stalled in all`;
  return indented(text, columns);
}

function goodputLines(run: ResultRun, columns: number): string[] {
  if (run.goodput === null) return [];
  const { budgets, met, perS, shareOfOffered } = run.goodput;
  const limits = Object.entries(budgets).map(
    ([name, us]) => `${name.replace(/Us$/, "")} ${formatFigure(us, "us")}`,
  );
  return indented(
    `goodput ${formatPlain(perS)}/s: ${formatPlain(met)} of ${formatPlain(run.counts.offered)} offered ` +
      `(${formatFigure(shareOfOffered, "share")}) met ${limits.join(", ")}`,
    columns,
  );
}

const SIGNS = { pass: "✓", fail: "✗", unknown: "?" } as const;

function verdictLines(verdict: ResultRun["verdicts"][number], page: Page): string[] {
  const { ink, columns } = page;
  const paint = { pass: ink.good, fail: ink.bad, unknown: ink.doubt }[verdict.status];
  const text = `${SIGNS[verdict.status]} ${verdict.name} ${verdict.status}: ${verdict.text}`;
  return indented(text, columns).map(paint);
}

/** Compared runs have no block of their own; what did not pass is said all the same. */
function comparedVerdicts(runs: readonly ResultRun[], page: Page): string[] {
  return runs.flatMap((run) =>
    run.verdicts
      .filter(({ status }) => status !== "pass")
      .flatMap((verdict) =>
        verdictLines({ ...verdict, name: `${run.name}, ${verdict.name}` }, page),
      ),
  );
}

function noteBlock(document: ResultDocument, page: Page): string[] {
  const { ink, columns } = page;
  const notes = document.notes.flatMap(({ level, text }) =>
    indented(`${level === "warn" ? "warning: " : ""}${text}`, columns).map(
      level === "warn" ? ink.doubt : ink.dim,
    ),
  );
  const partial =
    document.status === "partial"
      ? indented("partial: the run was interrupted", columns).map(ink.doubt)
      : [];
  const repeat = indented(`repeat: ${document.command}`, columns).map(ink.dim);
  return [...partial, ...notes, ...repeat];
}

function indented(text: string, columns: number): string[] {
  return wrapText(text, columns - 4).map((line, index) => (index === 0 ? "  " : "    ") + line);
}
