/**
 * The Grafana dashboards in deploy/grafana as data: what is drawn stands here, what Grafana wants around it is made. Written
 * by `npm run docs`; a test compares.
 */

interface Line {
  readonly expr: string;
  /** With labels in double braces. */
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly text: string;
  readonly unit: "s" | "reqps" | "short" | "percentunit" | "bytes" | "ops";
  readonly lines: readonly Line[];
  /** A verdict in words for 0 and 1 instead of a curve. */
  readonly verdict?: { readonly no: string; readonly yes: string };
  /** Of 24; two stand beside each other by default. */
  readonly width?: number;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly text: string;
  readonly rows: readonly Row[];
}

const CALLS = 'model=~"$model",upstream=~"$upstream"';
const RATE = "$__rate_interval";

function quantile(q: number, metric: string, labels: string, range = RATE): string {
  return `histogram_quantile(${q}, sum by (le) (rate(manx_gateway_${metric}_bucket{${labels}}[${range}])))`;
}

/** p50 for health, p95 for what is promised, p99 for the extremes. */
function percentiles(metric: string, labels = CALLS): Line[] {
  return [0.5, 0.95, 0.99].map((q) => ({
    expr: quantile(q, metric, labels),
    legend: `p${q * 100}`,
  }));
}

function rates(metric: string, by: string, labels = CALLS): Line[] {
  const names = by.split(", ").map((name) => `{{${name}}}`);
  return [
    {
      expr: `sum by (${by}) (rate(manx_gateway_${metric}{${labels}}[${RATE}]))`,
      legend: names.join(" "),
    },
  ];
}

function gauges(metric: string, by: string, labels = ""): Line[] {
  const names = by.split(", ").map((name) => `{{${name}}}`);
  const matchers = labels === "" ? "" : `{${labels}}`;
  return [{ expr: `sum by (${by}) (manx_gateway_${metric}${matchers})`, legend: names.join(" ") }];
}

/** p95 of ten minutes against the last day's. */
function againstUsual(metric: string): string {
  return `${quantile(0.95, metric, CALLS, "10m")} / ${quantile(0.95, metric, CALLS, "1d")}`;
}

const UP = 1.5;
const STEADY = 1.25;
const [TTFT_RATIO, ITL_RATIO] = [againstUsual("ttft_seconds"), againstUsual("itl_seconds")];

const CALLERS: Dashboard = {
  file: "manx-callers.json",
  uid: "manx-callers",
  title: "Manx gateway: callers",
  text: "What callers get: TTFT and ITL apart, stalls, failures, and which rule of diagnosis applies",
  rows: [
    {
      title: "Latency",
      panels: [
        {
          title: "TTFT",
          text: "Request received to the first output: queue and prefill. Event streams.",
          unit: "s",
          lines: percentiles("ttft_seconds"),
        },
        {
          title: "ITL",
          text: "Gap between tokens: decoding and who shares the engine. No latency of a whole.",
          unit: "s",
          lines: percentiles("itl_seconds"),
        },
        {
          title: "Streams a minute (n)",
          text: "What the percentiles are made of: below 1,000 in the window a p99 says little.",
          unit: "short",
          lines: [
            {
              expr: `sum by (model, upstream) (rate(manx_gateway_ttft_seconds_count{${CALLS}}[${RATE}])) * 60`,
              legend: "{{model}} {{upstream}}",
            },
          ],
        },
        {
          title: "E2E",
          text: "Request received to the last byte: it grows with the answer's length.",
          unit: "s",
          lines: percentiles("e2e_seconds"),
        },
      ],
    },
    {
      title: "Diagnosis",
      panels: [
        {
          title: "TTFT and ITL against the last day",
          text: "p95 over ten minutes as a multiple of the last day's; 1 is as usual.",
          unit: "short",
          width: 12,
          lines: [
            { expr: TTFT_RATIO, legend: "TTFT" },
            { expr: ITL_RATIO, legend: "ITL" },
          ],
        },
        {
          title: "Rule 1: TTFT up, ITL steady",
          text: "Network proxies and chunk settings; then new connections, queue, prompts, cache.",
          unit: "short",
          width: 6,
          verdict: { no: "no", yes: "look at proxies and chunk settings" },
          lines: [
            { expr: `(${TTFT_RATIO} > bool ${UP}) * (${ITL_RATIO} < bool ${STEADY})`, legend: "" },
          ],
        },
        {
          title: "Rule 2: ITL up, TTFT steady",
          text: "Concurrent sequences and KV paging or fragmentation.",
          unit: "short",
          width: 6,
          verdict: { no: "no", yes: "look at sequences and KV paging" },
          lines: [
            { expr: `(${ITL_RATIO} > bool ${UP}) * (${TTFT_RATIO} < bool ${STEADY})`, legend: "" },
          ],
        },
      ],
    },
    {
      title: "Stalls and ends",
      panels: [
        {
          title: "Streams with a stall",
          text: "As a share of streams, beside ITL and not inside its percentiles.",
          unit: "percentunit",
          lines: [
            {
              expr:
                `sum by (model, upstream) (rate(manx_gateway_stalled_streams_total{${CALLS}}[${RATE}])) / ` +
                `sum by (model, upstream) (rate(manx_gateway_ttft_seconds_count{${CALLS}}[${RATE}]))`,
              legend: "{{model}} {{upstream}}",
            },
          ],
        },
        {
          title: "How requests end",
          text: "A client that leaves is no error of anybody.",
          unit: "reqps",
          lines: rates("requests_total", "outcome", 'model=~"$model|none"'),
        },
        {
          title: "Refused, by reason",
          text: "What the gateway did not take on: queues, budgets, keys, unknown names.",
          unit: "reqps",
          lines: rates("refused_total", "reason", ""),
        },
        {
          title: "Tokens a second",
          text: "As the upstream counted; cached is part of input.",
          unit: "ops",
          lines: rates("tokens_total", "kind"),
        },
      ],
    },
    {
      title: "Who",
      panels: [
        {
          title: "In flight by model",
          text: "Open requests.",
          unit: "short",
          lines: gauges("model_in_flight", "model", 'model=~"$model"'),
        },
        {
          title: "Tokens a second by tenant",
          text: "Input and output; tenants beyond the first hundred are other.",
          unit: "ops",
          lines: rates("tenant_tokens_total", "tenant", ""),
        },
      ],
    },
  ],
};

const UPSTREAM = 'upstream=~"$upstream"';

const MACHINERY: Dashboard = {
  file: "manx-machinery.json",
  uid: "manx-machinery",
  title: "Manx gateway: machinery",
  text: "How the gateway gets there: attempts, connections, queues, replicas, and itself",
  rows: [
    {
      title: "Attempts",
      panels: [
        {
          title: "Attempts beyond the first",
          text: "By why they began.",
          unit: "reqps",
          lines: rates("attempts_total", "cause", `${CALLS},cause!="first"`),
        },
        {
          title: "Attempts that were not delivered",
          text: "By upstream and how they ended; lost ones were slower than their hedge.",
          unit: "reqps",
          lines: rates("attempts_total", "upstream, end", `${CALLS},end!="delivered"`),
        },
        {
          title: "Hedges",
          text: "Started, won, and late calls that were not hedged.",
          unit: "reqps",
          lines: [
            ...rates("hedges_total", "result", 'model=~"$model"'),
            ...rates("hedges_refused_total", "reason", 'model=~"$model"'),
          ],
        },
        {
          title: "Extra attempts saved up",
          text: "At 0 nothing is retried or hedged.",
          unit: "short",
          lines: gauges("attempt_budget_calls", "model, kind", 'model=~"$model"'),
        },
        {
          title: "Breakers",
          text: "0 closed, 1 half-open, 2 open.",
          unit: "short",
          lines: [
            {
              expr: `max by (model, target) (manx_gateway_breaker_state{${CALLS}})`,
              legend: "{{model}} {{target}}",
            },
          ],
        },
      ],
    },
    {
      title: "Connections",
      panels: [
        {
          title: "Open and idle",
          text: "A steady number of idle ones is what saves handshakes.",
          unit: "short",
          lines: [
            {
              expr: `sum by (upstream) (manx_gateway_upstream_connections_open{${UPSTREAM}})`,
              legend: "{{upstream}} open",
            },
            {
              expr: `sum by (upstream) (manx_gateway_upstream_connections_idle{${UPSTREAM}})`,
              legend: "{{upstream}} idle",
            },
          ],
        },
        {
          title: "Attempts by connection",
          text: "reused costs nothing; new and resumed cost round trips.",
          unit: "reqps",
          lines: rates("attempt_connections_total", "upstream, connection", UPSTREAM),
        },
        {
          title: "Set-up, seconds a second",
          text: "Time in DNS, TCP and TLS of connections opened.",
          unit: "s",
          lines: ["dns", "tcp", "tls"].map((stage) => ({
            expr: `sum(rate(manx_gateway_upstream_${stage}_seconds_total{${UPSTREAM}}[${RATE}]))`,
            legend: stage,
          })),
        },
        {
          title: "Failed and found dead",
          text: "Connections that could not be opened, and kept ones that a request found closed.",
          unit: "ops",
          lines: ["connections_failed", "reuse_races"].map((name) => ({
            expr: `sum by (upstream) (rate(manx_gateway_upstream_${name}_total{${UPSTREAM}}[${RATE}]))`,
            legend: `{{upstream}} ${name.replaceAll("_", " ")}`,
          })),
        },
      ],
    },
    {
      title: "Queues",
      panels: [
        {
          title: "Waiting, by lane",
          text: "Requests that wait for admission.",
          unit: "short",
          lines: gauges("queue_depth", "lane"),
        },
        {
          title: "Oldest, by lane",
          text: "How long the first of them has waited.",
          unit: "s",
          lines: [
            { expr: "max by (lane) (manx_gateway_queue_oldest_seconds)", legend: "{{lane}}" },
          ],
        },
        {
          title: "Wait at p99, by lane",
          text: "Of requests that were let in: short ones never wait behind long ones.",
          unit: "s",
          lines: [
            {
              expr: `histogram_quantile(0.99, sum by (lane, le) (rate(manx_gateway_queue_wait_seconds_bucket[${RATE}])))`,
              legend: "{{lane}}",
            },
          ],
        },
        {
          title: "Places",
          text: "The limit as adapted by now, and what is in flight.",
          unit: "short",
          lines: [
            { expr: "sum(manx_gateway_admission_limit)", legend: "limit" },
            ...gauges("lane_in_flight", "lane"),
          ],
        },
      ],
    },
    {
      title: "Replicas",
      panels: [
        {
          title: "KV memory in use",
          text: "Near 1 sequences are paged out: ITL rises.",
          unit: "percentunit",
          lines: gauges("replica_kv_use", "replica", UPSTREAM),
        },
        {
          title: "Running and waiting",
          text: "As the engines say.",
          unit: "short",
          lines: [
            {
              expr: `sum by (replica) (manx_gateway_replica_running{${UPSTREAM}})`,
              legend: "{{replica}} running",
            },
            {
              expr: `sum by (replica) (manx_gateway_replica_waiting{${UPSTREAM}})`,
              legend: "{{replica}} waiting",
            },
          ],
        },
      ],
    },
    {
      title: "The gateway itself",
      panels: [
        {
          title: "Own time a request",
          text: "Received whole to sent on a warm connection, without the queue.",
          unit: "s",
          lines: percentiles("overhead_seconds", ""),
        },
        {
          title: "Event-loop lag",
          text: "How late timers run; what delays every stream at once.",
          unit: "s",
          lines: percentiles("event_loop_lag_seconds", ""),
        },
        {
          title: "CPU and memory",
          text: "Of each process.",
          unit: "short",
          lines: [
            {
              expr: `rate(process_cpu_seconds_total{job=~".*manx.*"}[${RATE}])`,
              legend: "{{instance}} cores",
            },
            {
              expr: 'process_resident_memory_bytes{job=~".*manx.*"} / 1e9',
              legend: "{{instance}} GB",
            },
          ],
        },
        {
          title: "What guardrails add to TTFT",
          text: "p95 by the way that a call took.",
          unit: "s",
          lines: [
            {
              expr: `histogram_quantile(0.95, sum by (path, le) (rate(manx_gateway_guard_first_held_seconds_bucket{model=~"$model"}[${RATE}])))`,
              legend: "{{path}}",
            },
          ],
        },
        {
          title: "Lines and traces dropped",
          text: "What is not seen.",
          unit: "ops",
          lines: [
            ...rates("access_log_lines_total", "result", 'result="dropped"'),
            ...rates("otlp_traces_total", "result", 'result!="sent"'),
          ],
        },
      ],
    },
  ],
};

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
