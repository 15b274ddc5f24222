/**
 * The one document that every measuring command writes: conditions, then distributions with their histograms, then
 * verdicts. Terminal, HTML, CSV and dashboard are drawn from it and nothing else. Durations are microseconds. The JSON
 * Schema in schema/result.schema.json is made from this file (`npm run schema`); a change that an old reader cannot bear
 * raises SCHEMA_VERSION.
 */
import { z } from "zod";

export const SCHEMA_VERSION = 1;

const count = z.number().int().nonnegative();

const histogram = z.object({
  subBits: count,
  n: count,
  sum: z.number().nonnegative(),
  min: z.number().nullable(),
  max: z.number().nullable(),
  buckets: z.array(count).describe("pairs: distance to the bucket index before, count"),
});

const quantile = z.object({
  q: z.number().gt(0).max(1),
  value: z.number().nullable().describe("null if there is no sample"),
  low: z.number().nullable().describe("lower end of the 95 % order-statistic interval"),
  high: z.number().nullable(),
  n: count,
  beyond: count.describe("samples beyond this rank; below 10 the figure is drawn grey"),
});

const distribution = z.object({
  title: z.string(),
  unit: z.enum(["us", "tokens", "bytes", "count"]),
  from: z
    .enum(["intended-start", "actual-send", "previous-output", "first-output", "none"])
    .describe("the instant that the duration is counted from"),
  histogram,
  quantiles: z.array(quantile),
});

const gauge = z.object({
  title: z.string(),
  unit: z.enum(["share", "per-s", "us", "bytes", "tokens", "count", "ratio"]),
  value: z.number().nullable(),
  low: z.number().nullable().optional(),
  high: z.number().nullable().optional(),
  n: count.describe("observations behind the value"),
  basis: z.string().describe("what was counted, in one phrase"),
});

const conditions = z.object({
  target: z.string().describe("URL without credentials, or the engine's name in virtual time"),
  measuredAt: z.enum(["client", "engine", "gateway"]),
  arrivals: z.string().describe("process and its parameters, or the trace replayed"),
  workload: z.string(),
  offeredPerS: z.number().nonnegative(),
  concurrencyCap: count.nullable(),
  temperature: z.enum(["cold", "warm", "mixed"]).describe("whether calls paid for set-up"),
  cacheMode: z.string().describe("prefix cache: off, on, or what is known of it"),
  setup: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

const counts = z.object({
  offered: count,
  sent: count,
  completed: count,
  failed: count,
  empty: count.describe("ended well without any output"),
  failures: z
    .record(z.string(), count)
    .describe("failed requests by class, such as http-429 or timeout"),
});

const stalls = z.object({
  streams: count.describe("completed streams that were watched"),
  stalled: count,
  share: z.number().min(0).max(1).nullable(),
  stalledUs: z.number().nonnegative().describe("time beyond the threshold-crossing gaps, summed"),
  worstGapUs: z.number().nonnegative().nullable(),
});

const goodput = z.object({
  budgets: z.record(z.string(), z.number()).describe("metric name to its limit in µs, per request"),
  met: count,
  perS: z.number().nonnegative(),
  shareOfOffered: z.number().min(0).max(1),
});

const verdict = z.object({
  name: z.string(),
  status: z.enum(["pass", "fail", "unknown"]),
  text: z.string(),
});

const run = z.object({
  name: z.string(),
  world: z.enum(["virtual", "live"]),
  durationUs: z.number().nonnegative(),
  seed: count.nullable(),
  conditions,
  counts,
  metrics: z.record(z.string(), distribution),
  gauges: z.record(z.string(), gauge),
  stalls: stalls.nullable(),
  goodput: goodput.nullable(),
  verdicts: z.array(verdict),
});

const cell = z.object({
  run: z.string(),
  value: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  n: count,
  grey: z.boolean().describe("too few samples beyond it"),
  note: z.string().optional(),
});

const comparisonRow = z.object({
  title: z.string(),
  unit: z.enum(["us", "share", "per-s", "count", "ratio"]),
  better: z.enum(["lower", "higher"]),
  cells: z.array(cell),
  published: z
    .object({ before: z.number(), after: z.number(), ratio: z.number() })
    .nullable()
    .describe("the figures of the source's before-and-after table"),
  remark: z.string().describe("how the result stands to the published figure, and why"),
});

const comparison = z.object({
  title: z.string(),
  columns: z.array(
    z.object({
      run: z.string().nullable(),
      title: z.string(),
      status: z.enum(["measured", "next"]),
    }),
  ),
  rows: z.array(comparisonRow),
  source: z.string(),
});

export const resultSchema = z.object({
  $schema: z.string().optional(),
  schemaVersion: z.literal(SCHEMA_VERSION),
  kind: z.enum(["load", "demo", "run", "check"]),
  id: z.string(),
  startedAt: z.iso.datetime(),
  command: z.string().describe("repeats this run"),
  status: z.enum(["complete", "partial"]),
  versions: z.object({ manx: z.string(), node: z.string() }),
  host: z.object({ platform: z.string(), cpu: z.string(), cores: count }).nullable(),
  runs: z.array(run),
  comparisons: z.array(comparison),
  notes: z.array(z.object({ level: z.enum(["info", "warn"]), text: z.string() })),
  next: z.string().describe("one command to try next"),
});

export type ResultDocument = z.infer<typeof resultSchema>;
export type ResultRun = z.infer<typeof run>;
export type ResultDistribution = z.infer<typeof distribution>;
export type ResultGauge = z.infer<typeof gauge>;
export type ResultComparison = z.infer<typeof comparison>;
export type ResultComparisonRow = z.infer<typeof comparisonRow>;
export type ResultVerdict = z.infer<typeof verdict>;

/** The published JSON Schema (draft 2020-12). */
export function resultJsonSchema(): Record<string, unknown> {
  return {
    $id: "https://manx.invalid/result.schema.json",
    title: "Manx result document",
    ...(z.toJSONSchema(resultSchema) as Record<string, unknown>),
  };
}
