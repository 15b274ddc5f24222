/** How the gateway gets there: attempts, connections, queues, replicas, and itself. */
import { CALLS, type Dashboard, gauges, percentiles, RATE, rates } from "./dashboard-parts.ts";

const UPSTREAM = 'upstream=~"$upstream"';

export const MACHINERY: Dashboard = {
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
