/**
 * The Grafana dashboards in deploy/grafana as data: what is drawn stands here, what Grafana wants around it is made. Written
 * by `npm run docs`; a test compares.
 */
import { CALLERS } from "./dashboard-callers.ts";
import { MACHINERY } from "./dashboard-machinery.ts";
import type { Panel, Row } from "./dashboard-parts.ts";

// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

function variable(name: string, metric: string): object {
  return {
    name,
    label: name,
    type: "query",
    datasource: DATASOURCE,
    query: { query: `label_values(${metric}, ${name})`, refId: name },
    refresh: 2,
    includeAll: true,
    allValue: ".*",
    multi: true,
    current: { text: "All", value: "$__all" },
  };
}

function panelJson(panel: Panel, id: number, at: { x: number; y: number }): object {
  const { title, text, unit, lines, verdict, width = 12 } = panel;
  const isTime = title === "TTFT" || title === "E2E";
  const mappings =
    verdict === undefined
      ? []
      : [
          {
            type: "value",
            options: {
              0: { text: verdict.no, color: "blue", index: 0 },
              1: { text: verdict.yes, color: "orange", index: 1 },
            },
          },
        ];
  return {
    id,
    type: verdict === undefined ? "timeseries" : "stat",
    title,
    description: text,
    datasource: DATASOURCE,
    gridPos: { h: 8, w: width, ...at },
    targets: lines.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      range: verdict === undefined,
      instant: verdict !== undefined,
      exemplar: isTime,
    })),
    fieldConfig: {
      defaults: {
        unit,
        mappings,
        ...(verdict === undefined && { min: 0 }),
        custom: verdict === undefined ? { showPoints: "never", lineWidth: 2 } : {},
      },
      overrides: [],
    },
    options:
      verdict === undefined
        ? {
            legend: { displayMode: "table", placement: "bottom", calcs: ["lastNotNull", "max"] },
            tooltip: { mode: "multi" },
          }
        : { colorMode: "background", textMode: "value", reduceOptions: { calcs: ["lastNotNull"] } },
  };
}

function panelsOf(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: inRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
      panels: [],
    });
    y += 1;
    let x = 0;
    for (const panel of inRow) {
      const { width = 12 } = panel;
      if (x + width > 24) [x, y] = [0, y + 8];
      panels.push(panelJson(panel, panels.length + 1, { x, y }));
      x += width;
    }
    y += 8;
  }
  return panels;
}

/** Path from the root → text of the file. */
export function dashboardFiles(): Map<string, string> {
  const files = [CALLERS, MACHINERY].map(({ file, uid, title, text, rows }): [string, string] => {
    const dashboard = {
      uid,
      title,
      description: text,
      tags: ["manx", "llm"],
      schemaVersion: 39,
      timezone: "browser",
      refresh: "30s",
      time: { from: "now-6h", to: "now" },
      graphTooltip: 1,
      editable: true,
      templating: {
        list: [
          { name: "datasource", label: "data source", type: "datasource", query: "prometheus" },
          variable("model", "manx_gateway_e2e_seconds_count"),
          variable("upstream", "manx_gateway_e2e_seconds_count"),
        ],
      },
      panels: panelsOf(rows),
    };
    return [`deploy/grafana/${file}`, `${JSON.stringify(dashboard, null, 2)}\n`];
  });
  return new Map(files);
}
