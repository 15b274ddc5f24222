/**
 * A result for a pull request, an issue or a wiki: tables that GitHub draws, with n beside each percentile. No text of the
 * document can become a link, a picture or markup.
 */
import type { ResultComparison, ResultDocument, ResultRun } from "../load/index.ts";
import { formatFigure, formatPlain, isGrey, NO_FIGURE } from "./figure.ts";
import { headline } from "./headline.ts";
import { oneLine } from "./printable.ts";

const SIGNS = { pass: "✓", fail: "✗", unknown: "?" } as const;

export function renderMarkdown(document: ResultDocument): string {
  const blocks = [
    `## ${plain(headline(document))}`,
    document.status === "partial" ? "**Partial: the run was interrupted.**" : "",
    ...document.comparisons.map(comparisonBlock),
    ...document.runs.map(runBlock),
    document.notes
      .map(({ level, text }) => `- ${level === "warn" ? "**warning:** " : ""}${plain(text)}`)
      .join("\n"),
    `\`~\` fewer than ten samples beyond. ${provenance(document)}`,
    `Repeat: ${code(document.command)}  \nNext: ${code(document.next)}`,
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function provenance({ id, startedAt, versions, host }: ResultDocument): string {
  const machine = host === null ? "" : `, ${host.cores} cores (${host.platform}, ${host.cpu})`;
  return plain(`${id}, ${startedAt}, manx ${versions.manx}, Node ${versions.node}${machine}.`);
}

function comparisonBlock({ title, columns, rows, source }: ResultComparison): string {
  const isPublished = rows.some(({ published }) => published !== null);
  const heads = [
    "",
    ...columns.map((column) => column.title),
    ...(isPublished ? ["published"] : []),
  ];
  const lines = rows.map(({ title: measure, unit, cells, published }) => [
    measure,
    ...columns.map(({ run, status }) => {
      if (status === "next") return "next";
      const cell = cells.find((one) => one.run === run);
      if (cell === undefined) return NO_FIGURE;
      return `${cell.grey ? "~" : ""}${formatFigure(cell.value, unit)} (n ${formatPlain(cell.n)})`;
    }),
    ...(isPublished
      ? [
          published === null
            ? NO_FIGURE
            : `${formatFigure(published.before, unit)} → ${formatFigure(published.after, unit)}`,
        ]
      : []),
  ]);
  const remarks = rows
    .filter(({ remark }) => remark !== "")
    .map(({ title: measure, remark }) => `- **${plain(measure)}**: ${plain(remark)}`);
  return [
    `### ${plain(title)}`,
    "",
    table(heads, lines),
    ...(remarks.length > 0 ? ["", ...remarks] : []),
    ...(source === "" ? [] : ["", `Published: ${plain(source)}.`]),
  ].join("\n");
}

function runBlock(run: ResultRun): string {
  const { name, world, seed, conditions, counts, metrics, verdicts } = run;
  const measured = Object.values(metrics);
  const rank = measured[0]?.quantiles ?? [];
  const heads = ["", "n", ...rank.map(({ q }) => `p${Number((q * 100).toFixed(6))}`), "max"];
  const lines = measured.map(({ title, unit, histogram, quantiles }) => [
    title,
    formatPlain(histogram.n),
    ...rank.map(({ q }) => {
      const quantile = quantiles.find((one) => one.q === q);
      if (quantile === undefined || quantile.value === null) return NO_FIGURE;
      return `${isGrey(quantile.beyond) ? "~" : ""}${formatFigure(quantile.value, unit)}`;
    }),
    formatFigure(histogram.max, unit),
  ]);
  const facts =
    `${world}, ${formatPlain(conditions.offeredPerS)}/s offered (${conditions.arrivals}), ` +
    `${conditions.workload}, ${conditions.temperature}, prefix cache ${conditions.cacheMode}, ` +
    `measured at the ${conditions.measuredAt}${seed === null ? "" : `, seed ${seed}`}; ` +
    `${formatPlain(counts.completed)} of ${formatPlain(counts.offered)} completed, ${formatPlain(counts.failed)} failed`;
  return [
    `<details><summary>${unlinked(escaped(oneLine(name)))}</summary>`,
    "",
    plain(facts),
    ...(lines.length > 0 ? ["", table(heads, lines)] : []),
    ...stallLine(run),
    ...(verdicts.length > 0 ? [""] : []),
    ...verdicts.map(
      (verdict) =>
        `- ${SIGNS[verdict.status]} ${plain(`${verdict.name} ${verdict.status}: ${verdict.text}`)}`,
    ),
    "",
    "</details>",
  ].join("\n");
}

function stallLine({ stalls }: ResultRun): string[] {
  if (stalls === null) return [];
  const { stalled, streams, share, worstGapUs } = stalls;
  return [
    "",
    `Stalls: ${formatPlain(stalled)} of ${formatPlain(streams)} streams (${formatFigure(share, "share")}), worst gap ${formatFigure(worstGapUs, "us")}.`,
  ];
}

function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.map(plain).join(" | ")} |`;
  const rule = `|${heads.map((_, index) => (index === 0 ? " --- " : " ---: ")).join("|")}|`;
  return [row(heads), rule, ...lines.map(row)].join("\n");
}

/** Text that stays text: one line, and nothing that Markdown or HTML reads as a mark. */
function plain(text: string): string {
  const marked = escaped(oneLine(text))
    .replace(/[\\`*_[\]|#!~]/g, "\\$&")
    .replace(/^(\s*)([-+]|\d+\.)(?= )/, "$1\\$2");
  return unlinked(marked);
}

/** GitHub makes links of bare addresses and names; a space without width keeps them from that. */
function unlinked(text: string): string {
  return text.replace(/:\/\/|www\.|@/gi, (mark) => `${mark[0]}&#8203;${mark.slice(1)}`);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A span of code with as many backticks around as the text needs. */
function code(text: string): string {
  const line = oneLine(text);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 ? " " : "";
  return `${fence}${pad}${line}${pad}${fence}`;
}
