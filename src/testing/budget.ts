/**
 * Whether recorded turns keep a latency budget, percentile by percentile. A percentile with fewer than ten samples beyond
 * it says more about luck than about the tail, so it is not met: a budget that passes on next to nothing is none (casebook
 * CI-02). Cold turns never share a percentile with warm ones.
 */
import { assert, formatUs, ManxError, nearestName } from "../core/index.ts";
import type { TimeSpan } from "../runtime/index.ts";
import { spanUs } from "../runtime/time-span.ts";
import { BEYOND_MIN, isTrusted, sampleQuantile } from "../stats/index.ts";
import { PHASES, type Phase, type TurnRecord } from "../trace/index.ts";
import { type TurnTimes, turnTimes } from "./turn-times.ts";

const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99, p999: 0.999 } as const;
type Percentile = keyof typeof PERCENTILES;

/** The most that each percentile may be. */
export type Limits = { readonly [Name in Percentile]?: TimeSpan };

export interface TurnBudget {
  /** From the turn's start to its end. */
  readonly e2e?: Limits;
  /** From the turn's start to the first output that a user can see. */
  readonly firstVisible?: Limits;
  /** Of each model call: from its start to its first output. */
  readonly ttft?: Limits;
  /** Time of a turn in one phase. */
  readonly phases?: { readonly [Name in Phase]?: Limits };
  /** Which turns count. Default `warm`. */
  readonly turns?: "warm" | "cold";
}

export interface BudgetRow {
  /** Such as `e2e`, `ttft`, `phases.tools`. */
  readonly metric: string;
  readonly percentile: Percentile;
  readonly n: number;
  /** µs; NaN without a sample. */
  readonly gotUs: number;
  /** Ends of its 95 % interval, µs; null where n cannot carry one. */
  readonly lowUs: number | null;
  readonly highUs: number | null;
  readonly limitUs: number;
  readonly verdict: "met" | "over" | "too-few";
}

export interface BudgetReport {
  /** Every row is met, and there is one. */
  readonly isMet: boolean;
  readonly rows: readonly BudgetRow[];
  /** Turns that did not count. */
  readonly leftOut: { readonly otherWarmth: number; readonly incomplete: number };
  /** One line a row, for people. */
  readonly text: string;
}

/** @throws MANX_FLAG_VALUE for a budget that cannot be, MANX_DURATION */
export function checkBudget(turns: readonly TurnRecord[], budget: TurnBudget): BudgetReport {
  const wanted = budget.turns ?? "warm";
  const whole = turns.filter(({ flags }) => !flags.incomplete);
  const counted = whole.filter(({ flags }) => flags.cold.length > 0 === (wanted === "cold"));
  const times = counted.map(turnTimes);
  const rows = metricsOf(budget).flatMap(([metric, limits]) =>
    rowsOf(metric, samplesOf(metric, { times, counted }), limits),
  );
  const leftOut = {
    otherWarmth: whole.length - counted.length,
    incomplete: turns.length - whole.length,
  };
  return report(rows, leftOut);
}

/** The same for times from anywhere, in µs. @throws MANX_FLAG_VALUE, MANX_DURATION */
export function checkTimes(
  timesUs: readonly number[],
  limits: Limits,
  metric = "time",
): BudgetReport {
  return report(rowsOf(metric, [...timesUs], limits), { otherWarmth: 0, incomplete: 0 });
}

type Counted = { readonly times: readonly TurnTimes[]; readonly counted: readonly TurnRecord[] };

const METRICS: Readonly<Record<string, (counted: Counted) => number[]>> = {
  e2e: ({ times }) => times.map(({ e2eUs }) => e2eUs),
  firstVisible: ({ times }) => times.flatMap(({ firstVisibleUs: us }) => (us === null ? [] : [us])),
  ttft: ({ times }) => times.flatMap(({ ttftsUs }) => ttftsUs),
  ...Object.fromEntries(
    PHASES.map((phase) => [
      `phases.${phase}`,
      ({ counted }: Counted) => counted.map(({ phases }) => phases[phase]),
    ]),
  ),
};

function samplesOf(metric: string, counted: Counted): number[] {
  const read = METRICS[metric];
  assert(read !== undefined, "a metric was checked before");
  return read(counted);
}

function metricsOf({ phases = {}, turns: _, ...others }: TurnBudget): [string, Limits][] {
  const named = [
    ...Object.entries(others),
    ...Object.entries(phases).map(([phase, limits]) => [`phases.${phase}`, limits] as const),
  ];
  return named.flatMap(([metric, limits]): [string, Limits][] => {
    if (!Object.hasOwn(METRICS, metric)) throw unknown(metric, Object.keys(METRICS), "a budget");
    return limits === undefined ? [] : [[metric, limits]];
  });
}

function rowsOf(metric: string, samples: number[], limits: Limits): BudgetRow[] {
  const sorted = samples.sort((a, b) => a - b);
  return Object.entries(limits).map(([name, limit]): BudgetRow => {
    if (!Object.hasOwn(PERCENTILES, name)) {
      throw unknown(name, Object.keys(PERCENTILES), `the budget of ${metric}`);
    }
    const percentile = name as Percentile;
    const limitUs = spanUs(limit, `${metric}.${name}`);
    const quantile = sampleQuantile(sorted, PERCENTILES[percentile]);
    const { value: gotUs, low: lowUs, high: highUs, n } = quantile;
    const verdict = isTrusted(quantile) ? (gotUs <= limitUs ? "met" : "over") : "too-few";
    return { metric, percentile, n, gotUs, lowUs, highUs, limitUs, verdict };
  });
}

function report(rows: readonly BudgetRow[], leftOut: BudgetReport["leftOut"]): BudgetReport {
  const isMet = rows.length > 0 && rows.every(({ verdict }) => verdict === "met");
  const lines = rows.length === 0 ? ["the budget sets no limit"] : rows.map(rowText);
  const { otherWarmth, incomplete } = leftOut;
  if (otherWarmth > 0) lines.push(`${otherWarmth} turns left out: cold ones are judged apart`);
  if (incomplete > 0) lines.push(`${incomplete} turns left out: incomplete`);
  return { isMet, rows, leftOut, text: lines.join("\n") };
}

function rowText({
  metric,
  percentile,
  n,
  gotUs,
  lowUs,
  highUs,
  limitUs,
  verdict,
}: BudgetRow): string {
  const name = `${metric} ${percentile}`;
  const limit = `limit ${formatUs(limitUs)}`;
  if (verdict === "too-few") {
    const least = Math.ceil(BEYOND_MIN / (1 - PERCENTILES[percentile]) - 1e-9);
    return `too few  ${name}: n ${n}, at least ${least} for ten samples beyond it (${limit})`;
  }
  const ends = [lowUs, highUs].map((us) => (us === null ? "–" : formatUs(us))).join(" to ");
  return `${verdict === "met" ? "met    " : "OVER   "}  ${name}: ${formatUs(gotUs)} (${ends}), n ${n}, ${limit}`;
}

function unknown(name: string, known: readonly string[], where: string): ManxError {
  const near = nearestName(name, known);
  return new ManxError("MANX_FLAG_VALUE", {
    what: `${where} has no ${JSON.stringify(name)}`,
    where,
    expected: `one of ${known.join(", ")}`,
    got: JSON.stringify(name),
    ...(near !== undefined && { hint: `did you mean "${near}"?` }),
  });
}
