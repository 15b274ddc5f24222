/**
 * The report as one HTML file: opens from disk with no network, prints, and holds the result document itself, which can be
 * taken out again. Its policy forbids every load and every script but its own, so a document can say nothing that would
 * phone home.
 */
import { createHash } from "node:crypto";
import type { ResultDocument } from "../load/index.ts";
import { embeddable } from "./embeddable.ts";
import { formatFigure } from "./figure.ts";
import { headline, headlineDetail, keyFacts } from "./headline.ts";
import { comparisonTable } from "./html-comparison.ts";
import { conditionsOf, goodputText, stallText } from "./html-conditions.ts";
import { SCRIPT } from "./html-script.ts";
import { STYLE } from "./html-style.ts";
import { verdictSummary, verdictsOf } from "./html-verdicts.ts";
import { html, Markup, NOTHING, scriptJson } from "./markup.ts";
import { chartsOf } from "./percentile-figure.ts";
import { percentileTable } from "./percentile-table.ts";
import { type GroupRun, type RunGroup, runGroups } from "./run-group.ts";

const SCRIPT_HASH = createHash("sha256").update(SCRIPT).digest("base64");
/** In a piece of its own: bundlers rewrite a template that has this tag in it, with a helper from a package of theirs. */
const SCRIPT_END = new Markup("</script>");
const POLICY =
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; ` +
  "base-uri 'none'; form-action 'none'";

export function renderHtml(document: ResultDocument): string {
  const embedded = embeddable(document);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${headline(document)} · Manx ${document.kind}</title>
<style>${new Markup(STYLE)}</style></head><body><main>
${header(document)}
${runGroups(document).map(groupSection)}
${closing(document, embedded.isThinned)}
</main>
<script type="application/json" id="result">${scriptJson(embedded.document)}${SCRIPT_END}
<script>${new Markup(SCRIPT)}${SCRIPT_END}</body></html>
`;
  return page.text;
}

function header(document: ResultDocument): Markup {
  const detail = headlineDetail(document);
  const cards = keyFacts(document).map(
    ({ title, text, detail: change }) =>
      html`<div class="fact"><small>${title}</small><b>${text}</b><small>${change}</small></div>
`,
  );
  return html`<header><p class="soft">Manx ${document.kind} · ${startedText(document)} · ${document.id}</p>
<h1>${headline(document)}</h1>${detail !== "" && html`<p class="lead">${detail}</p>`}
${document.status === "partial" && html`<p class="unknown"><b>? partial</b>: the run was interrupted; what was in flight is in no figure</p>`}
${verdictSummary(document)}</header>
${cards.length > 0 && html`<div class="facts">${cards}</div>`}`;
}

/** The document's own text, to the minute; no clock and no time zone are asked. */
function startedText({ startedAt }: ResultDocument): string {
  return `${startedAt.slice(0, 16).replace("T", " ")} UTC`;
}

function groupSection(group: RunGroup): Markup {
  const { title, comparison, runs } = group;
  const alone = comparison === null ? runs[0] : undefined;
  return html`<section><h2>${title}</h2>
${comparison !== null && comparisonTable(comparison)}${alone !== undefined && runSummary(alone)}
${verdictsOf(group)}${runs.length > 0 && html`${chartsOf(group)}${conditionsOf(group)}`}</section>
`;
}

/** What a comparison's table says for its runs, for a run that stands alone. */
function runSummary({ run }: GroupRun): Markup {
  const { conditions, counts, stalls, goodput } = run;
  const rows = ["ttftUs", "itlUs", "tpotUs", "e2eUs"].flatMap((name) => {
    const metric = run.metrics[name];
    return metric === undefined ? [] : [{ title: metric.title, metric }];
  });
  return html`<p class="soft">${conditions.target}, ${formatFigure(conditions.offeredPerS, "per-s")} offered (${conditions.arrivals}), ${conditions.workload}, ${conditions.temperature}</p>
${rows.length > 0 ? percentileTable(run.name, rows) : NOTHING}
<p>Requests: ${formatFigure(counts.completed, "count")} of ${formatFigure(counts.offered, "count")} completed, ${formatFigure(counts.failed, "count")} failed.${
    stalls !== null && html`<br>Stalls: ${stallText(stalls)}.`
  }${goodput !== null && html`<br>Goodput: ${goodputText(goodput, counts.offered)}.`}</p>`;
}

function closing(document: ResultDocument, isThinned: boolean): Markup {
  const { notes, command, next, versions, host } = document;
  const machine = host === null ? "" : `, ${host.cores} cores, ${host.cpu}, ${host.platform}`;
  return html`<section><h2>Repeat and go on</h2>
<p>Repeat this run:</p><pre tabindex="0">${command}</pre>
<p>Next:</p><pre tabindex="0">${next}</pre>
${
  notes.length > 0 &&
  html`<ul class="remarks">${notes.map(
    ({ level, text }) =>
      html`<li>${level === "warn" && html`<b class="unknown">warning</b>: `}${text}</li>
`,
  )}</ul>`
}
<p class="soft">~ and italics: fewer than ten samples lie beyond a percentile, and its line is grey and dashed from there.
★: best of its row, if its range meets no other. Ranges are 95 % order-statistic intervals. Times count from the intended start.</p>
<p class="soft">manx ${versions.manx}, Node ${versions.node}${machine}</p>
<p><button id="save" type="button" hidden>save result.json</button>${
    isThinned &&
    html` <small>with wider histogram buckets than measured, to keep this page small</small>`
  }</p></section>`;
}
