/**
 * Result documents to draw: a load run with a tail, a ladder with a rung that is still to come, and a run that got no answer.
 * Made from closed formulas, so that each figure is the same on every machine.
 */
import {
  METRIC_LABELS,
  type MetricName,
  type ResultDocument,
  type ResultRun,
  toDistribution,
} from "../../src/load/index.ts";
import { Histogram } from "../../src/stats/index.ts";

const MS = 1_000;
const S = 1_000_000;

/** What the samples of one metric look like: the middle one, and how heavy the tail is. */
interface TailShape {
  readonly n: number;
  readonly medianUs: number;
  /** Exponent of the tail: 0 is none, 1 has no mean. */
  readonly tail: number;
}

/** n samples at the middle of their ranks. */
export function tailSamples({ n, medianUs, tail }: TailShape): Histogram {
  const histogram = new Histogram();
  for (let rank = 0; rank < n; rank += 1) {
    const beyond = 1 - (rank + 0.5) / n;
    histogram.record(medianUs * (2 * beyond) ** -tail);
  }
  return histogram;
}

function metricsOf(
  shapes: Partial<Record<MetricName, TailShape>>,
): Record<string, ReturnType<typeof toDistribution>> {
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [
      name,
      toDistribution(tailSamples(shape), METRIC_LABELS[name as MetricName]),
    ]),
  );
}

const CONDITIONS: ResultRun["conditions"] = {
  target: "http://127.0.0.1:8000",
  measuredAt: "client",
  arrivals: "Poisson, 20/s",
  workload: "500 prompt tokens, at most 64 output tokens",
  offeredPerS: 20,
  concurrencyCap: null,
  temperature: "mixed",
  cacheMode: "unknown; prompts of this run are its own",
  setup: { api: "openai", model: "sample", stream: true, timeoutUs: 60 * S },
};

const LOAD_RUN: ResultRun = {
  name: "load",
  world: "live",
  durationUs: 30 * S,
  seed: 42,
  conditions: CONDITIONS,
  counts: {
    offered: 600,
    sent: 600,
    completed: 588,
    failed: 11,
    empty: 1,
    failures: { "http-429": 8, timeout: 3 },
  },
  metrics: metricsOf({
    ttftUs: { n: 588, medianUs: 180 * MS, tail: 0.4 },
    itlUs: { n: 37_044, medianUs: 12 * MS, tail: 0.25 },
    tpotUs: { n: 588, medianUs: 14 * MS, tail: 0.1 },
    e2eUs: { n: 588, medianUs: 940 * MS, tail: 0.3 },
  }),
  gauges: {
    achievedPerS: {
      title: "requests completed per second",
      unit: "per-s",
      value: 19.6,
      n: 588,
      basis: "completed over the span of arrivals",
    },
  },
  stalls: { streams: 588, stalled: 4, share: 4 / 588, stalledUs: 6.2 * S, worstGapUs: 2.4 * S },
  goodput: {
    budgets: { ttftUs: 500 * MS, e2eUs: 5 * S },
    met: 531,
    perS: 17.7,
    shareOfOffered: 0.885,
  },
  verdicts: [
    {
      name: "goodput",
      status: "fail",
      text: "88.5 % of the offered requests met every limit, 99 % wanted",
    },
    {
      name: "errors",
      status: "unknown",
      text: "1.83 % of the requests failed, above 1 %: no percentile is believed",
    },
    { name: "client", status: "pass", text: "schedule lag p99 0.41 ms, limit 1.20 ms" },
  ],
};

const FRAME = {
  schemaVersion: 1,
  startedAt: "2026-11-29T16:11:12.000Z",
  status: "complete",
  versions: { manx: "0.1.0", node: "v20.20.0" },
  host: { platform: "linux x64", cpu: "Sample CPU", cores: 2 },
  comparisons: [],
  notes: [],
} as const satisfies Partial<Record<keyof ResultDocument, unknown>>;

/** Stalls, failures, goodput, and a verdict of each kind. */
export function loadDocument(): ResultDocument {
  return structuredClone<ResultDocument>({
    ...FRAME,
    comparisons: [],
    kind: "load",
    id: "load-sample",
    command:
      "manx load --url http://127.0.0.1:8000 --rate 20/s --duration 30s --slo ttft=500ms,e2e=5s",
    runs: [LOAD_RUN],
    notes: [{ level: "warn", text: "the server closed 3 connections" }],
    next: "manx load --url http://127.0.0.1:8000 --rate 10/s",
  });
}

/** A run whose every request failed: no metric has a sample. */
export function emptyDocument(): ResultDocument {
  const document = loadDocument();
  const none = { n: 0, medianUs: 1, tail: 0 };
  const run = document.runs[0]!;
  return {
    ...document,
    status: "partial",
    runs: [
      {
        ...run,
        durationUs: 0,
        seed: null,
        counts: { offered: 0, sent: 0, completed: 0, failed: 0, empty: 0, failures: {} },
        metrics: metricsOf({ ttftUs: none, itlUs: none, e2eUs: none }),
        gauges: {
          kvLiveShare: { title: "KV memory", unit: "share", value: null, n: 0, basis: "no step" },
        },
        stalls: { streams: 0, stalled: 0, share: null, stalledUs: 0, worstGapUs: null },
        goodput: { budgets: { ttftUs: 500 * MS }, met: 0, perS: 0, shareOfOffered: 0 },
        verdicts: [{ name: "goodput", status: "unknown", text: "nothing was offered" }],
      },
    ],
  };
}

interface Rung {
  readonly run: string;
  readonly title: string;
  readonly n: number;
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly kvShare: number;
}

const RUNGS: readonly Rung[] = [
  {
    run: "static",
    title: "static + contiguous",
    n: 2_000,
    ttftMs: 9_000,
    itlMs: 9,
    kvShare: 0.031,
  },
  { run: "continuous", title: "continuous", n: 2_000, ttftMs: 60, itlMs: 18, kvShare: 0.075 },
  { run: "paged", title: "+ paged", n: 2_000, ttftMs: 55, itlMs: 18, kvShare: 0.989 },
  { run: "chunked", title: "+ chunked prefill", n: 40, ttftMs: 70, itlMs: 16, kvShare: 0.988 },
];

function rungRun({ run: name, n, ttftMs, itlMs, kvShare }: Rung): ResultRun {
  const stalled = name === "static" ? 0 : 6;
  return {
    ...LOAD_RUN,
    name,
    world: "virtual",
    conditions: { ...CONDITIONS, target: "engine twin", measuredAt: "engine", cacheMode: "off" },
    counts: { offered: n, sent: n, completed: n, failed: 0, empty: 0, failures: {} },
    metrics: metricsOf({
      ttftUs: { n, medianUs: ttftMs * MS, tail: 0.3 },
      itlUs: { n: 20 * n, medianUs: itlMs * MS, tail: 0.2 },
      e2eUs: { n, medianUs: ttftMs * MS + 64 * itlMs * MS, tail: 0.25 },
    }),
    gauges: {
      kvLiveShare: {
        title: "KV memory used by live tokens",
        unit: "share",
        value: kvShare,
        n: 5_000,
        basis: "mean over steps",
      },
    },
    stalls: {
      streams: n,
      stalled,
      share: stalled / n,
      stalledUs: stalled * S,
      worstGapUs: 1.3 * S,
    },
    goodput: null,
    verdicts: [{ name: "arrivals", status: "pass", text: "all runs saw the same arrivals" }],
  };
}

const runs = RUNGS.map(rungRun);

function p99Cells(
  metric: MetricName,
): ResultDocument["comparisons"][number]["rows"][number]["cells"] {
  return runs.map(({ name, metrics }) => {
    const { value, low, high, n, beyond } = metrics[metric]!.quantiles.find(({ q }) => q === 0.99)!;
    return { run: name, value, low, high, n, grey: beyond < 10 };
  });
}

/** Four measured columns, of which the last has too few samples, and one that is marked "next". */
export function ladderDocument(): ResultDocument {
  return structuredClone<ResultDocument>({
    ...FRAME,
    notes: [{ level: "info", text: "lengths and arrivals are the sample's own" }],
    kind: "demo",
    id: "demo-sample",
    command: "manx demo --no-live --seed 42",
    runs,
    comparisons: [
      {
        title: "The same arrivals, one lever at a time",
        columns: [
          ...RUNGS.map(({ run, title }) => ({ run, title, status: "measured" as const })),
          { run: null, title: "+ prefix cache", status: "next" },
        ],
        rows: [
          {
            title: "TTFT p99",
            unit: "us",
            better: "lower",
            cells: p99Cells("ttftUs"),
            published: { before: 2_850_000, after: 380_000, ratio: 7.5 },
            remark: "same direction; the static batch waits for its longest answer",
          },
          {
            title: "decode (ITL) p99",
            unit: "us",
            better: "lower",
            cells: p99Cells("itlUs"),
            published: { before: 48_500, after: 16_200, ratio: 2.99 },
            remark: "",
          },
          {
            title: "KV memory used by live tokens",
            unit: "share",
            better: "higher",
            cells: RUNGS.map(({ run, kvShare: value }) => ({
              run,
              value,
              low: null,
              high: null,
              n: 5_000,
              grey: false,
            })),
            published: null,
            remark: "",
          },
        ],
        source: "a table of two columns",
      },
    ],
    next: "manx engine --scheduler chunked",
  });
}

/** The document with `mark` put into every text that is not an enumeration, a date, or a name that another field refers to. */
export function withEveryText(document: ResultDocument, mark: string): ResultDocument {
  const kept = new Set(["kind", "status", "startedAt", "unit", "from", "better", "level", "world"]);
  const also = ["measuredAt", "temperature", "schemaVersion"];
  for (const name of also) kept.add(name);
  const marked = (value: unknown): unknown => {
    if (typeof value === "string") return `${value}${mark}`;
    if (Array.isArray(value)) return value.map(marked);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, kept.has(name) ? one : marked(one)]),
    );
  };
  return marked(document) as ResultDocument;
}
