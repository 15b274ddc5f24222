/** What callers get: TTFT and ITL apart, stalls, failures, and which rule of diagnosis applies. */
import {
  CALLS,
  type Dashboard,
  gauges,
  percentiles,
  quantile,
  RATE,
  rates,
} from "./dashboard-parts.ts";

/** p95 of ten minutes against the last day's. */
function againstUsual(metric: string): string {
  return `${quantile(0.95, metric, CALLS, "10m")} / ${quantile(0.95, metric, CALLS, "1d")}`;
}

const UP = 1.5;
const STEADY = 1.25;
const [TTFT_RATIO, ITL_RATIO] = [againstUsual("ttft_seconds"), againstUsual("itl_seconds")];

export const CALLERS: Dashboard = {
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
