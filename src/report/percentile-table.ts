/** Percentiles as an HTML table: n once a row, grey and marked where fewer than ten samples lie beyond. */
import type { ResultDistribution } from "../load/index.ts";
import { formatFigure, formatPlain, isGrey, NO_FIGURE } from "./figure.ts";
import { html, type Markup } from "./markup.ts";
import { scrollBox } from "./scroll-box.ts";

export interface PercentileRow {
  readonly title: string;
  readonly metric: ResultDistribution;
}

export function percentileTable(label: string, rows: readonly PercentileRow[]): Markup {
  const ranks = [...new Set(rows.flatMap(({ metric }) => metric.quantiles.map(({ q }) => q)))].sort(
    (a, b) => a - b,
  );
  const heads = ["n", ...ranks.map(percentileTitle), "max"];
  return scrollBox(
    label,
    html`<table><thead><tr><td></td>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => percentileRow(row, ranks))}</tbody></table>`,
  );
}

function percentileRow({ title, metric }: PercentileRow, ranks: readonly number[]): Markup {
  const { unit, histogram, quantiles } = metric;
  const cells = ranks.map((rank) => {
    const quantile = quantiles.find(({ q }) => q === rank);
    if (quantile === undefined || quantile.value === null) return html`<td>${NO_FIGURE}</td>`;
    const text = formatFigure(quantile.value, unit);
    return isGrey(quantile.beyond) ? html`<td class="grey">~${text}</td>` : html`<td>${text}</td>`;
  });
  return html`<tr><th scope="row">${title}</th><td class="soft">${formatPlain(histogram.n)}</td>${cells}<td>${formatFigure(histogram.max, unit)}</td></tr>
`;
}

/** p50, p99.9 */
function percentileTitle(q: number): string {
  return `p${Number((q * 100).toFixed(6))}`;
}
