/** Under what conditions a group's runs were measured: what all share is said once, what differs stands side by side. */
import type { ResultRun } from "../load/index.ts";
import { formatFigure, formatPlain, NO_FIGURE } from "./figure.ts";
import { html, type Markup } from "./markup.ts";
import { type PercentileRow, percentileTable } from "./percentile-table.ts";
import type { RunGroup } from "./run-group.ts";
import { scrollBox } from "./scroll-box.ts";

export function conditionsOf(group: RunGroup): Markup {
  const { title, runs } = group;
  const label = `Conditions: ${title}`;
  return html`<details${runs.length === 1 && group.comparison === null && html` open`}><summary>conditions, counts and gauges</summary>${scrollBox(
    label,
    factTable(group),
  )}</details>
<details><summary>all percentiles</summary>${percentileTable(`All percentiles: ${title}`, allRows(group))}</details>`;
}

function allRows({ runs }: RunGroup): PercentileRow[] {
  const names = [...new Set(runs.flatMap(({ run }) => Object.keys(run.metrics)))];
  return names.flatMap((name) =>
    runs.flatMap(({ title, run }): PercentileRow[] => {
      const metric = run.metrics[name];
      if (metric === undefined) return [];
      return [{ title: runs.length > 1 ? `${metric.title}, ${title}` : metric.title, metric }];
    }),
  );
}

function factTable({ runs }: RunGroup): Markup {
  const perRun = runs.map(({ run }) => factsOf(run));
  const names = [...new Set(perRun.flatMap((facts) => [...facts.keys()]))];
  const rows = names.map((name) => {
    const texts = perRun.map((facts) => facts.get(name) ?? NO_FIGURE);
    const isShared = texts.every((text) => text === texts[0]);
    const cells = isShared
      ? html`<td class="shared" colspan="${texts.length}">${texts[0]}</td>`
      : html`${texts.map((text) => html`<td>${text}</td>`)}`;
    return html`<tr><th scope="row">${name}</th>${cells}</tr>
`;
  });
  const head =
    runs.length > 1 &&
    html`<thead><tr><td></td>${runs.map(({ title }) => html`<th scope="col">${title}</th>`)}</tr></thead>`;
  return html`<table class="facts-table">${head}<tbody>${rows}</tbody></table>`;
}

function factsOf(run: ResultRun): Map<string, string> {
  const { conditions, counts, stalls, goodput } = run;
  const { offered, completed, failed, empty, failures } = counts;
  const classes = Object.entries(failures).map(([kind, count]) => `${kind} ${formatPlain(count)}`);
  const facts: [string, string | null][] = [
    ["target", conditions.target],
    ["world", `${run.world}, measured at the ${conditions.measuredAt}`],
    ["arrivals", conditions.arrivals],
    ["offered", `${formatPlain(conditions.offeredPerS)}/s`],
    ["workload", conditions.workload],
    ["cold or warm", conditions.temperature],
    ["prefix cache", conditions.cacheMode],
    [
      "most open at once",
      conditions.concurrencyCap === null ? "no limit" : formatPlain(conditions.concurrencyCap),
    ],
    ["duration", formatFigure(run.durationUs, "us")],
    ["seed", run.seed === null ? "none" : String(run.seed)],
    [
      "requests",
      `${formatPlain(offered)} offered, ${formatPlain(completed)} completed, ${formatPlain(failed)} failed`,
    ],
    ["failures", classes.length === 0 ? null : classes.join(", ")],
    ["without output", empty === 0 ? null : formatPlain(empty)],
    ["stalls", stalls && stallText(stalls)],
    ["goodput", goodput && goodputText(goodput, offered)],
    ...Object.values(run.gauges).map((gauge): [string, string] => [
      gauge.title,
      `${formatFigure(gauge.value, gauge.unit)} (n ${formatPlain(gauge.n)}, ${gauge.basis})`,
    ]),
    ...Object.entries(conditions.setup).map(setupFact),
  ];
  return new Map(facts.flatMap(([name, text]) => (text === null ? [] : [[name, text] as const])));
}

/** A setting's name says its unit; a reader gets the unit with the figure. */
function setupFact([name, value]: [string, string | number | boolean]): [string, string] {
  return typeof value === "number" && name.endsWith("Us")
    ? [name.slice(0, -"Us".length), formatFigure(value, "us")]
    : [name, String(value)];
}

export function stallText({
  stalled,
  streams,
  share,
  worstGapUs,
  stalledUs,
}: NonNullable<ResultRun["stalls"]>): string {
  const of = `${formatPlain(stalled)} of ${formatPlain(streams)} streams (${formatFigure(share, "share")})`;
  const worst = `largest gap ${formatFigure(worstGapUs, "us")}`;
  return stalled === 0
    ? `${of}, ${worst}`
    : `${of}, ${worst}, ${formatFigure(stalledUs, "us")} stalled in all`;
}

export function goodputText(
  { budgets, met, perS, shareOfOffered }: NonNullable<ResultRun["goodput"]>,
  offered: number,
): string {
  const limits = Object.entries(budgets).map(
    ([name, us]) => `${name.replace(/Us$/, "")} ≤ ${formatFigure(us, "us")}`,
  );
  return `${formatPlain(perS)}/s: ${formatPlain(met)} of ${formatPlain(offered)} offered (${formatFigure(shareOfOffered, "share")}) met ${limits.join(", ")}`;
}
