/**
 * The report as one HTML file: opens from disk with no network, prints, and holds the result document itself, which can be
 * taken out again. Its policy forbids every load, so a document can say nothing that would phone home.
 */
import type {
  ResultComparison,
  ResultComparisonRow,
  ResultDocument,
  ResultRun,
} from "../load/index.ts";
import { formatFigure, formatPlain, isGrey } from "./figure.ts";
import { hdrPlot, type PlotLine } from "./hdr-plot.ts";
import { headline, keyFacts } from "./headline.ts";
import { STYLE } from "./html-style.ts";
import { embedJson, escapeHtml } from "./html-text.ts";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/** Saves the embedded document; without script the page is whole all the same. */
const SCRIPT = `
const data=document.getElementById("result").textContent;
const save=document.getElementById("save");
save.hidden=false;
save.addEventListener("click",()=>{
  const link=document.createElement("a");
  link.href=URL.createObjectURL(new Blob([JSON.stringify(JSON.parse(data),null,1)],{type:"application/json"}));
  link.download="result.json";
  link.click();
});
`;

export function renderHtml(document: ResultDocument): string {
  const title = `Manx ${document.kind}`;
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>`,
    `<header><h1>${escapeHtml(headline(document))}</h1>`,
    `<p class="soft">${escapeHtml(subtitle(document))}</p></header>`,
    factCards(document),
    ...document.comparisons.map((comparison) => comparisonSection(comparison, document)),
    runsSection(document),
    closingSection(document),
    "</main>",
    `<script type="application/json" id="result">${embedJson(document)}</script>`,
    `<script>${SCRIPT}</script></body></html>\n`,
  ].join("\n");
}

function subtitle(document: ResultDocument): string {
  const { host } = document;
  const seeds = [...new Set(document.runs.map(({ seed }) => seed))].filter((seed) => seed !== null);
  const parts = [
    `${document.kind} ${document.id}`,
    document.startedAt,
    document.status,
    seeds.length > 0 ? `seed ${seeds.join(", ")}` : "",
    host === null ? "" : `${host.cores} cores, ${host.cpu}`,
    `manx ${document.versions.manx}, Node ${document.versions.node}`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function factCards(document: ResultDocument): string {
  const cards = keyFacts(document).map(
    ({ title, text, detail }) =>
      `<div class="fact"><small>${escapeHtml(title)}</small><b>${escapeHtml(text)}</b><small>${escapeHtml(detail)}</small></div>`,
  );
  return cards.length === 0 ? "" : `<div class="facts">${cards.join("")}</div>`;
}

function comparisonSection(comparison: ResultComparison, document: ResultDocument): string {
  const hasPublished = comparison.rows.some((row) => row.published !== null);
  const heads = comparison.columns.map(({ title }) => `<th scope="col">${escapeHtml(title)}</th>`);
  const rows = comparison.rows.map((row) => comparisonRow(row, comparison, hasPublished));
  const remarks = comparison.rows
    .filter(({ remark }) => remark !== "")
    .map(({ title, remark }) => `<li><b>${escapeHtml(title)}</b>: ${escapeHtml(remark)}</li>`);
  return [
    `<section><h2>${escapeHtml(comparison.title)}</h2><div class="wide"><table><thead><tr><th scope="col"></th>`,
    ...heads,
    hasPublished ? '<th scope="col">published</th>' : "",
    `</tr></thead><tbody>${rows.join("")}</tbody></table></div>`,
    remarks.length > 0 ? `<ul class="remarks">${remarks.join("")}</ul>` : "",
    comparison.source === ""
      ? ""
      : `<p class="soft">Published: ${escapeHtml(comparison.source)}.</p>`,
    plots(comparison, document),
    "</section>",
  ].join("");
}

function comparisonRow(
  row: ResultComparisonRow,
  comparison: ResultComparison,
  hasPublished: boolean,
): string {
  const values = row.cells.flatMap(({ value }) => (value === null ? [] : [value]));
  const best = row.better === "lower" ? Math.min(...values) : Math.max(...values);
  const cells = comparison.columns.map(({ run, status }) => {
    if (status === "next") return '<td class="grey">next</td>';
    const cell = row.cells.find((one) => one.run === run);
    if (cell === undefined) return "<td>–</td>";
    const isBest = cell.value === best && values.some((value) => value !== best);
    const kind = cell.grey ? "grey" : isBest ? "best" : "";
    const interval =
      cell.low !== null && cell.high !== null
        ? `${formatFigure(cell.low, row.unit)} to ${formatFigure(cell.high, row.unit)}, `
        : "";
    const bar =
      row.unit === "share" && cell.value !== null
        ? `<span class="bar" style="--w:${Math.min(100, Math.max(0, cell.value * 100)).toFixed(1)}%"></span>`
        : "";
    return (
      `<td class="${kind}">${cell.grey ? "~" : ""}${escapeHtml(formatFigure(cell.value, row.unit))}` +
      `${isBest ? ' <span aria-label="best">★</span>' : ""}${bar}` +
      `<small>${escapeHtml(interval)}n ${formatPlain(cell.n)}</small></td>`
    );
  });
  const published =
    row.published === null
      ? "<td>–</td>"
      : `<td>${escapeHtml(formatFigure(row.published.before, row.unit))} → ${escapeHtml(formatFigure(row.published.after, row.unit))}` +
        `<small>${formatPlain(row.published.ratio)}×</small></td>`;
  return `<tr><th scope="row">${escapeHtml(row.title)}</th>${cells.join("")}${hasPublished ? published : ""}</tr>`;
}

/** The metrics that are drawn, each in a chart of its own: TTFT and ITL never share one. */
const PLOTTED = ["ttftUs", "itlUs", "e2eUs"] as const;

function plots(comparison: ResultComparison, document: ResultDocument): string {
  const runs = comparison.columns.flatMap(({ run, title }) => {
    const found = document.runs.find(({ name }) => name === run);
    return found === undefined ? [] : [{ title, run: found }];
  });
  return runPlots(runs);
}

function runPlots(runs: readonly { title: string; run: ResultRun }[]): string {
  return PLOTTED.map((name) => {
    const lines = runs.flatMap(({ title, run }): PlotLine[] => {
      const metric = run.metrics[name];
      return metric === undefined ? [] : [{ name: title, metric }];
    });
    const first = lines[0];
    if (first === undefined) return "";
    return hdrPlot(`${first.metric.title} by percentile`, lines) + plotTable(lines);
  }).join("");
}

function plotTable(lines: readonly PlotLine[]): string {
  const heads = lines[0]!.metric.quantiles.map(
    ({ q }) => `<th scope="col">p${formatPercent(q)}</th>`,
  );
  const rows = lines.map(({ name, metric }) => {
    const cells = metric.quantiles.map((quantile) => {
      const text = formatFigure(quantile.value, metric.unit);
      return isGrey(quantile.beyond) ? `<td class="grey">~${text}</td>` : `<td>${text}</td>`;
    });
    return (
      `<tr><th scope="row">${escapeHtml(name)}</th><td>${formatPlain(metric.histogram.n)}</td>${cells.join("")}` +
      `<td>${formatFigure(metric.histogram.max, metric.unit)}</td></tr>`
    );
  });
  return (
    `<details><summary>show as table</summary><div class="wide"><table><thead><tr><th scope="col"></th><th scope="col">n</th>${heads.join("")}<th scope="col">max</th>` +
    `</tr></thead><tbody>${rows.join("")}</tbody></table></div></details>`
  );
}

function formatPercent(q: number): string {
  return String(Number((q * 100).toFixed(3)));
}

function runsSection(document: ResultDocument): string {
  const compared = new Set(
    document.comparisons.flatMap(({ columns }) => columns.map(({ run }) => run)),
  );
  const alone = document.runs.filter(({ name }) => !compared.has(name));
  const charts = alone.length === 0 ? "" : runPlots(alone.map((run) => ({ title: run.name, run })));
  return `<section><h2>Runs</h2>${charts}${document.runs.map(runDetails).join("")}</section>`;
}

function runDetails(run: ResultRun): string {
  const { conditions, counts } = run;
  const facts: [string, string][] = [
    ["target", conditions.target],
    ["world", `${run.world}, measured at the ${conditions.measuredAt}`],
    ["arrivals", `${formatPlain(conditions.offeredPerS)}/s offered; ${conditions.arrivals}`],
    ["workload", conditions.workload],
    ["temperature", `${conditions.temperature}; prefix cache ${conditions.cacheMode}`],
    [
      "requests",
      `${formatPlain(counts.completed)} of ${formatPlain(counts.offered)} completed, ${formatPlain(counts.failed)} failed`,
    ],
    ...(run.stalls === null
      ? []
      : [
          [
            "stalls",
            `${formatFigure(run.stalls.share, "share")} of ${formatPlain(run.stalls.streams)} streams, worst gap ${formatFigure(run.stalls.worstGapUs, "us")}`,
          ] as [string, string],
        ]),
    ...Object.values(run.gauges).map((gauge): [string, string] => [
      gauge.title,
      `${formatFigure(gauge.value, gauge.unit)} (n ${formatPlain(gauge.n)}, ${gauge.basis})`,
    ]),
    [
      "set-up",
      Object.entries(conditions.setup)
        .map(([name, value]) => `${name} ${value}`)
        .join(", "),
    ],
  ];
  const rows = facts.map(
    ([name, text]) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td style="text-align:left;white-space:normal">${escapeHtml(text)}</td></tr>`,
  );
  return (
    `<details><summary>${escapeHtml(run.name)}</summary><table><tbody>${rows.join("")}</tbody></table>` +
    `${verdictList(run)}</details>`
  );
}

const SIGNS = { pass: "✓", fail: "✗", unknown: "?" } as const;

function verdictList(run: ResultRun): string {
  if (run.verdicts.length === 0) return "";
  const items = run.verdicts.map(
    ({ name, status, text }) =>
      `<li class="${status}">${SIGNS[status]} ${escapeHtml(name)} ${status}: ${escapeHtml(text)}</li>`,
  );
  return `<ul>${items.join("")}</ul>`;
}

function closingSection(document: ResultDocument): string {
  const notes = document.notes.map(
    ({ level, text }) =>
      `<li class="${level === "warn" ? "unknown" : "soft"}">${escapeHtml(text)}</li>`,
  );
  return (
    `<section><h2>Repeat and go on</h2><p>Repeat this run:</p><pre>${escapeHtml(document.command)}</pre>` +
    `<p>Next:</p><pre>${escapeHtml(document.next)}</pre>` +
    `<p><button id="save" type="button" hidden>save result.json</button></p>` +
    `${notes.length > 0 ? `<ul class="remarks">${notes.join("")}</ul>` : ""}` +
    `<p class="soft">~ and italics: fewer than ten samples lie beyond a percentile. ★ best of its row. Ranges are 95 % order-statistic intervals.</p></section>`
  );
}
