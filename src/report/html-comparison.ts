/** A comparison as an HTML table: measures as rows, runs as columns, the published figures and the remark beside them. */
import type { ResultComparison, ResultComparisonRow } from "../load/index.ts";
import { formatFigure, formatPlain, NO_FIGURE } from "./figure.ts";
import { html, type Markup, NOTHING, type Piece } from "./markup.ts";
import { scrollBox } from "./scroll-box.ts";
import { shareBar } from "./share-bar.ts";

export function comparisonTable(comparison: ResultComparison): Markup {
  const { title, columns, rows, source } = comparison;
  const isPublished = rows.some(({ published }) => published !== null);
  const heads = [...columns.map((column) => column.title), ...(isPublished ? ["published"] : [])];
  const remarks = rows.filter(({ remark }) => remark !== "");
  return html`${scrollBox(
    title,
    html`<table class="comparison"><thead><tr><td></td>${heads.map(
      (head) => html`<th scope="col">${head}</th>`,
    )}</tr></thead>
<tbody>${rows.map((row) => comparisonRow(row, columns, isPublished))}</tbody></table>`,
  )}
${
  remarks.length > 0 &&
  html`<ul class="remarks">${remarks.map(
    (row) => html`<li><b>${row.title}</b>: ${row.remark}</li>
`,
  )}</ul>`
}${source !== "" && html`<p class="soft">Published figures: ${source}.</p>`}`;
}

type Cell = ResultComparisonRow["cells"][number];

function comparisonRow(
  row: ResultComparisonRow,
  columns: ResultComparison["columns"],
  isPublished: boolean,
): Markup {
  const n = sharedN(row.cells);
  const best = bestOf(row);
  const cells = columns.map(({ run, status }) => {
    if (status === "next") return html`<td class="grey">next</td>`;
    const cell = row.cells.find((one) => one.run === run);
    if (cell === undefined) return html`<td>${NO_FIGURE}</td>`;
    return figureCell(row, cell, cell.value === best, n === undefined);
  });
  return html`<tr><th scope="row">${row.title}${
    n !== undefined && html`<small>n ${formatPlain(n)}</small>`
  }</th>${cells}${isPublished && publishedCell(row)}</tr>
`;
}

function figureCell(row: ResultComparisonRow, cell: Cell, isBest: boolean, hasN: boolean): Markup {
  const { unit } = row;
  const under: Piece[] = [
    cell.low !== null && cell.high !== null
      ? html`<small>${formatFigure(cell.low, unit)} – ${formatFigure(cell.high, unit)}</small>`
      : NOTHING,
    hasN && html`<small>n ${formatPlain(cell.n)}</small>`,
    cell.note !== undefined && html`<small class="note">${cell.note}</small>`,
  ];
  const isDrawn = unit === "share" && cell.value !== null;
  return html`<td class="${cell.grey ? "grey" : isBest ? "best" : "plain"}">${cell.grey && "~"}${formatFigure(cell.value, unit)}${
    isBest && !cell.grey && html`<span class="star" role="img" aria-label="best"> ★</span>`
  }${isDrawn && shareBar(cell.value ?? 0)}${under}</td>`;
}

function publishedCell({ published, unit }: ResultComparisonRow): Markup {
  if (published === null) return html`<td>${NO_FIGURE}</td>`;
  const { before, after, ratio } = published;
  return html`<td class="published">${formatFigure(before, unit)} → ${formatFigure(after, unit)}<small>${formatPlain(ratio)}×</small></td>`;
}

/** The n of all cells, if they have but one. */
function sharedN(cells: readonly Cell[]): number | undefined {
  const [first, ...others] = cells;
  return first !== undefined && others.every(({ n }) => n === first.n) ? first.n : undefined;
}

/**
 * The best value, where it can be told from the others: none if another's interval overlaps its own, and never a figure that
 * ten samples do not carry.
 */
function bestOf({ cells, better }: ResultComparisonRow): number | undefined {
  const known = cells.filter(({ value, grey }) => value !== null && !grey);
  const values = known.map(({ value }) => value!);
  if (new Set(values).size < 2) return undefined;
  const best = better === "lower" ? Math.min(...values) : Math.max(...values);
  const [low, high] = intervalOf(known.find(({ value }) => value === best)!);
  const isClear = known.every((cell) => {
    const [otherLow, otherHigh] = intervalOf(cell);
    return cell.value === best || otherLow > high || otherHigh < low;
  });
  return isClear ? best : undefined;
}

/** A figure without an interval is exact; an end that n cannot carry is open. */
function intervalOf({ value, low, high }: Cell): readonly [number, number] {
  if (low === null && high === null) return [value!, value!];
  return [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY];
}
