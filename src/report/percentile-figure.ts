/** The charts of a group: TTFT, ITL and E2E each in its own, since a sum of them hides which one moved. */
import { formatPlain } from "./figure.ts";
import { hdrPlot, legendMark } from "./hdr-plot.ts";
import { html, type Markup, NOTHING } from "./markup.ts";
import { percentileTable } from "./percentile-table.ts";
import type { GroupRun, RunGroup } from "./run-group.ts";
import { shareFigure } from "./share-bar.ts";

const PLOTTED = ["ttftUs", "itlUs", "e2eUs"] as const;

/** Further lines would be told apart by nobody; they stand in the tables. */
const LINES_MAX = 8;

export function chartsOf(group: RunGroup): Markup {
  const figures = PLOTTED.map((name) => percentileFigure(group, name));
  return html`<div class="charts">${figures}${shareFigure(group)}</div>`;
}

interface Line {
  readonly one: GroupRun;
  readonly metric: GroupRun["run"]["metrics"][string];
}

function percentileFigure({ title, runs }: RunGroup, name: string): Markup {
  const all = runs.flatMap((one): Line[] => {
    const metric = one.run.metrics[name];
    return metric === undefined ? [] : [{ one, metric }];
  });
  const first = all[0];
  if (first === undefined) return NOTHING;
  const what = `${first.metric.title} by percentile`;
  const lines = all.slice(0, LINES_MAX);
  const plot = hdrPlot(
    `${what}: ${title}`,
    lines.map(({ one, metric }) => ({ series: one.series, metric })),
  );
  const rows = all.map(({ one, metric }) => ({ title: one.title, metric }));
  return html`<figure><figcaption>${what}</figcaption>
${plot === NOTHING ? html`<p class="soft">no sample</p>` : plot}
<ul class="legend">${lines.map((line, index) => legendItem(line, lines.slice(0, index)))}${
    all.length > LINES_MAX && html`<li>${all.length - LINES_MAX} more in the table</li>`
  }</ul>
<details><summary>show as table</summary>${percentileTable(what, rows)}</details></figure>
`;
}

/** A line that lies exactly upon an earlier one cannot be seen, so it is said. */
function legendItem({ one, metric }: Line, before: readonly Line[]): Markup {
  const { n } = metric.histogram;
  const samples = JSON.stringify(metric.histogram);
  const twin = n > 0 && before.find((line) => JSON.stringify(line.metric.histogram) === samples);
  return html`<li>${legendMark(one.series)}${one.title} <small>n ${formatPlain(n)}${
    twin && `, the same as ${twin.one.title}`
  }</small></li>`;
}
