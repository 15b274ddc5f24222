/** What a reader should know first: one sentence, and the few figures behind it. */
import type { ResultComparisonRow, ResultDocument } from "../load/index.ts";
import { formatFigure, formatPlain } from "./figure.ts";

export interface KeyFact {
  readonly title: string;
  readonly text: string;
  readonly detail: string;
}

interface Change {
  readonly row: ResultComparisonRow;
  readonly before: number;
  readonly after: number;
  readonly n: number;
}

/** First and last measured column of a row. */
function changeOf(row: ResultComparisonRow): Change | undefined {
  const first = row.cells[0];
  const last = row.cells.at(-1);
  if (first === undefined || last === undefined || first === last) return undefined;
  if (first.value === null || last.value === null) return undefined;
  return { row, before: first.value, after: last.value, n: Math.min(first.n, last.n) };
}

export function headline(document: ResultDocument): string {
  const row = document.comparisons[0]?.rows[0];
  const change = row === undefined ? undefined : changeOf(row);
  if (change !== undefined) {
    const { title, unit } = change.row;
    return `${title} went from ${formatFigure(change.before, unit)} to ${formatFigure(change.after, unit)}`;
  }
  const run = document.runs[0];
  if (run === undefined) return "Nothing was measured";
  const p99 = (name: string): string =>
    formatFigure(run.metrics[name]?.quantiles.find(({ q }) => q === 0.99)?.value, "us");
  const metric = run.metrics.ttftUs === undefined ? "e2eUs" : "ttftUs";
  return `${metric === "ttftUs" ? "TTFT" : "E2E"} p99 was ${p99(metric)} at ${formatPlain(run.conditions.offeredPerS)}/s`;
}

export function keyFacts(document: ResultDocument): KeyFact[] {
  const rows = document.comparisons[0]?.rows ?? [];
  return rows.flatMap((row): KeyFact[] => {
    const change = changeOf(row);
    if (change === undefined) return [];
    const { before, after, n } = change;
    return [
      {
        title: row.title,
        text: `${formatFigure(before, row.unit)} → ${formatFigure(after, row.unit)}`,
        detail: `${direction(change)}, n ${formatPlain(n)}`,
      },
    ];
  });
}

function direction({ row, before, after }: Change): string {
  const ratio = row.better === "lower" ? before / after : after / before;
  if (!Number.isFinite(ratio)) return "from nothing";
  if (ratio === 0) return "to nothing";
  return ratio >= 1 ? `${formatPlain(ratio)}× better` : `${formatPlain(1 / ratio)}× worse`;
}
