/** What a reader should know first: one sentence, and the few figures behind it. */
import type { ResultComparisonRow, ResultDocument, ResultRun } from "../load/index.ts";
import { formatFigure, formatPlain, isGrey } from "./figure.ts";

export interface KeyFact {
  readonly title: string;
  readonly text: string;
  readonly detail: string;
}

interface Change {
  readonly row: ResultComparisonRow;
  readonly first: string;
  readonly last: string;
  readonly before: number;
  readonly after: number;
  readonly n: number;
  readonly isGrey: boolean;
}

/** From the first to the last measured column of a row of the first comparison. */
function changeOf(row: ResultComparisonRow, document: ResultDocument): Change | undefined {
  const first = row.cells[0];
  const last = row.cells.at(-1);
  if (first === undefined || last === undefined || first === last) return undefined;
  if (first.value === null || last.value === null) return undefined;
  const titleOf = (run: string): string =>
    document.comparisons[0]?.columns.find((column) => column.run === run)?.title ?? run;
  return {
    row,
    first: titleOf(first.run),
    last: titleOf(last.run),
    before: first.value,
    after: last.value,
    n: Math.min(first.n, last.n),
    isGrey: first.grey || last.grey,
  };
}

function leadingChange(document: ResultDocument): Change | undefined {
  const row = document.comparisons[0]?.rows[0];
  return row && changeOf(row, document);
}

/** `TTFT p99 went from 120 s to 201 ms` */
export function headline(document: ResultDocument): string {
  const change = leadingChange(document);
  if (change !== undefined) {
    const { row, before, after } = change;
    return `${row.title} went from ${formatFigure(before, row.unit)} to ${formatFigure(after, row.unit)}`;
  }
  const run = document.runs[0];
  if (run === undefined) return "Nothing was measured";
  const tail = tailOf(run);
  if (tail === undefined) return `${run.name}: no response was measured`;
  return `${tail.title} p99 was ${tail.text} at ${formatPlain(run.conditions.offeredPerS)}/s offered`;
}

/** How many samples the headline rests on, of which runs, and with which seed. Empty if there is nothing to say. */
export function headlineDetail(document: ResultDocument): string {
  const seeds = [...new Set(document.runs.map(({ seed }) => seed))].filter((seed) => seed !== null);
  const seed = seeds.length > 0 ? `, seed ${seeds.join(", ")}` : "";
  const change = leadingChange(document);
  if (change !== undefined) {
    const { first, last, n } = change;
    const doubt = change.isGrey ? "; fewer than ten samples lie beyond it" : "";
    return `${first} → ${last}: ${direction(change)}, n ${formatPlain(n)}${seed}${doubt}`;
  }
  const run = document.runs[0];
  const tail = run && tailOf(run);
  if (run === undefined || tail === undefined) return "";
  const doubt = tail.isGrey ? "; fewer than ten samples lie beyond it" : "";
  return `${run.conditions.target}, n ${formatPlain(tail.n)}${seed}${doubt}`;
}

/** The p99 that a run is known by. */
function tailOf(run: ResultRun) {
  const metric = [run.metrics.ttftUs, run.metrics.e2eUs].find(
    (one) => one !== undefined && one.histogram.n > 0,
  );
  const p99 = metric?.quantiles.find(({ q }) => q === 0.99);
  if (metric === undefined || p99 === undefined) return undefined;
  return {
    title: metric.title,
    text: formatFigure(p99.value, metric.unit),
    n: p99.n,
    isGrey: isGrey(p99.beyond),
  };
}

export function keyFacts(document: ResultDocument): KeyFact[] {
  const rows = document.comparisons[0]?.rows ?? [];
  return rows.flatMap((row): KeyFact[] => {
    const change = changeOf(row, document);
    if (change === undefined) return [];
    const { before, after, n } = change;
    return [
      {
        title: row.title,
        text: `${unbroken(before, row.unit)} → ${unbroken(after, row.unit)}`,
        detail: `${direction(change)}, n ${formatPlain(n)}${change.isGrey ? ", ~ too few beyond" : ""}`,
      },
    ];
  });
}

/** A figure and its unit stay on one line. */
function unbroken(value: number, unit: ResultComparisonRow["unit"]): string {
  return formatFigure(value, unit).replaceAll(" ", "\u00a0");
}

function direction({ row, before, after }: Change): string {
  const ratio = row.better === "lower" ? before / after : after / before;
  if (Number.isNaN(ratio) || ratio === 1) return "no change";
  if (!Number.isFinite(ratio)) return "from nothing";
  if (ratio === 0) return "to nothing";
  return ratio > 1 ? `${formatPlain(ratio)}× better` : `${formatPlain(1 / ratio)}× worse`;
}
