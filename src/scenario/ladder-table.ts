/** The ladder as the comparison of the result document, held against the published table row by row. */
import type { ResultComparison, ResultComparisonRow, ResultRun } from "../load/index.ts";
import type { Ladder, RungResult } from "./ladder.ts";
import { PUBLISHED, PUBLISHED_SOURCE, type PublishedFigure } from "./published.ts";

export type RowCell = ResultComparisonRow["cells"][number];

export interface RowPlan {
  readonly title: string;
  readonly unit: ResultComparisonRow["unit"];
  readonly better: ResultComparisonRow["better"];
  readonly published: PublishedFigure | null;
  /** Why this row may stand where it does; true whatever the figures are. */
  readonly because: string;
  readonly cell: (result: RungResult, run: ResultRun) => Omit<RowCell, "run">;
}

/** The rows of the published table, and the rate that it does not give. */
export const BATCHING_ROWS: readonly RowPlan[] = [
  {
    title: "TTFT p99",
    unit: "us",
    better: "lower",
    published: PUBLISHED.ttftP99,
    because: "a static batch keeps newcomers out until its longest answer ends",
    cell: (_, run) => percentileCell(run, "ttftUs"),
  },
  {
    title: "decode (ITL) p99",
    unit: "us",
    better: "lower",
    published: PUBLISHED.itlP99,
    because:
      "a static batch never stops decoding for a prompt; every scheduler that lets requests in pays with ITL, whole prompts with the worst gap, chunks with a bounded one",
    cell: (_, run) => percentileCell(run, "itlUs"),
  },
  {
    title: "E2E p99",
    unit: "us",
    better: "lower",
    published: PUBLISHED.e2eP99,
    because: "all answers of the trace, not only long reasoning; waiting is most of the difference",
    cell: (_, run) => percentileCell(run, "e2eUs"),
  },
  {
    title: "KV memory used by live tokens",
    unit: "share",
    better: "higher",
    published: PUBLISHED.kvLiveShare,
    because:
      "a contiguous reservation must hold the longest request of the trace; the published 32.4 % fits a reservation of about 3,500 tokens",
    cell: (_, run) => gauge(run, "kvLiveShare"),
  },
  {
    title: "throughput, all at once",
    unit: "per-s",
    better: "higher",
    published: PUBLISHED.peakPerS,
    because: "the ratio follows from lengths and batch sizes, the absolute rate from the hardware",
    cell: (result, run) => plain(result.peakPerS, run.counts.offered),
  },
  {
    title: "sustained within the SLO",
    unit: "per-s",
    better: "higher",
    published: null,
    because:
      "TTFT p99 ≤ 2 s and TPOT p99 ≤ 200 ms, MLPerf's limits for a chat server: the rate that users can be given, which a ceiling is not",
    cell: (result) => plain(result.sustainedPerS, result.sustainedRequests),
  },
];

/** What a prefix cache and the routing to it can change. */
export const PREFIX_ROWS: readonly RowPlan[] = [
  {
    title: "prompt tokens from the cache",
    unit: "share",
    better: "higher",
    published: null,
    because: "bounded by what the trace repeats and by what each replica's memory can keep",
    cell: (_, run) => gauge(run, "prefixHitShare"),
  },
  {
    title: "TTFT p50",
    unit: "us",
    better: "lower",
    published: null,
    because: "a hit saves the prefill of what it covers",
    cell: (_, run) => percentileCell(run, "ttftUs", 0.5),
  },
  {
    title: "TTFT p99",
    unit: "us",
    better: "lower",
    published: null,
    because:
      "the tail is queueing behind long prompts, so spreading load does more for it than hits",
    cell: (_, run) => percentileCell(run, "ttftUs"),
  },
  {
    title: "decode (ITL) p99",
    unit: "us",
    better: "lower",
    published: null,
    because: "chunks bound it; fewer computed prompt tokens mean fewer chunks",
    cell: (_, run) => percentileCell(run, "itlUs"),
  },
  {
    title: "throughput, all at once",
    unit: "per-s",
    better: "higher",
    published: null,
    because: "prompts of 12,000 tokens are bound by computing them; hits are what is left out",
    cell: (result, run) => plain(result.peakPerS, run.counts.offered),
  },
];

/** What drafts and a split change, for better and for worse. */
export const FURTHER_ROWS: readonly RowPlan[] = [
  {
    title: "TTFT p99",
    unit: "us",
    better: "lower",
    published: null,
    because: "fewer engines to prefill let prompts queue; drafts do not touch prefill",
    cell: (_, run) => percentileCell(run, "ttftUs"),
  },
  {
    title: "decode (ITL) p50",
    unit: "us",
    better: "lower",
    published: null,
    because: "a verification gives several tokens for a step that is little longer",
    cell: (_, run) => percentileCell(run, "itlUs", 0.5),
  },
  {
    title: "decode (ITL) p99",
    unit: "us",
    better: "lower",
    published: null,
    because: "where only decodes run, no prompt stops an answer",
    cell: (_, run) => percentileCell(run, "itlUs"),
  },
  {
    title: "E2E p99",
    unit: "us",
    better: "lower",
    published: null,
    because: "the longest answers are decode",
    cell: (_, run) => percentileCell(run, "e2eUs"),
  },
  {
    title: "tokens from a verification",
    unit: "count",
    better: "higher",
    published: null,
    because: "1 + 0.7 + … + 0.7⁵ = 2.94 before answers end",
    cell: (_, run) => gauge(run, "verificationTokens"),
  },
  {
    title: "KV hand-over p99",
    unit: "us",
    better: "lower",
    published: null,
    because: "waiting for the link and for room, and the transfer",
    cell: (_, run) => percentileCell(run, "handoverUs"),
  },
];

/** @param rungs each "on top" of the one before, or "alone" on the first: what the remarks compare follows from it. */
export function ladderComparison(
  ladder: Ladder,
  title: string,
  rows: readonly RowPlan[],
  rungs: "on top" | "alone" = "on top",
): ResultComparison {
  const columns = ladder.rungs.map(({ rung, run }) => ({
    run: run?.name ?? null,
    title: rung.title,
    status: run === null ? ("next" as const) : ("measured" as const),
  }));
  return {
    title: `${title} (${ladder.replicas} ${ladder.replicas === 1 ? "engine" : "engines"})`,
    columns,
    rows: rows.map((plan) => toRow(plan, ladder, rungs)),
    source: rows.some((plan) => plan.published !== null) ? PUBLISHED_SOURCE : "",
  };
}

function toRow(plan: RowPlan, ladder: Ladder, rungs: "on top" | "alone"): ResultComparisonRow {
  const cells = ladder.rungs.flatMap(({ run, ...result }): RowCell[] => {
    if (run === null) return [];
    const cell = { run: run.name, ...plan.cell({ ...result, run }, run) };
    // A figure that the rung does not have at all is no cell.
    return cell.value === null && cell.n === 0 ? [] : [cell];
  });
  const { title, unit, better, published } = plan;
  const said = rungs === "alone" ? eachRemark(plan, ladder, cells) : remark(plan, cells);
  return { title, unit, better, cells, published, remark: said };
}

/** Every rung against the first one. */
function eachRemark(plan: RowPlan, ladder: Ladder, cells: readonly RowCell[]): string {
  const [first, ...others] = ladder.rungs;
  const figureOf = (result: RungResult | undefined): number | null | undefined =>
    cells.find((cell) => cell.run === result?.run?.name)?.value;
  const before = figureOf(first);
  if (before == null) return plan.because;
  const ratios = others.flatMap((result) => {
    const after = figureOf(result);
    if (after == null) return [];
    const ratio = plan.better === "lower" ? before / after : after / before;
    return `${result.rung.title} ${describe(ratio)}`;
  });
  return `${ratios.join(", ")}: ${plan.because}`;
}

/** Direction and ratio beside the published ones, then the reason. */
function remark(plan: RowPlan, cells: readonly RowCell[]): string {
  const before = cells[0]?.value;
  const after = cells.at(-1)?.value;
  if (before == null || after == null) return plan.because;
  const ratio = plan.better === "lower" ? before / after : after / before;
  const here = `${describe(ratio)} from first to last rung`;
  if (plan.published === null) return `${here}: ${plan.because}`;
  const theirs = describe(plan.published.ratio);
  const agree = ratio >= 1 === plan.published.ratio >= 1;
  const verdict = agree
    ? `published ${theirs}, same direction`
    : `published ${theirs}, other direction`;
  return `${here}; ${verdict}: ${plan.because}`;
}

function describe(ratio: number): string {
  if (!Number.isFinite(ratio)) return "from nothing to something";
  const size = ratio >= 1 ? ratio : 1 / ratio;
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return `${size.toFixed(digits)}× ${ratio >= 1 ? "better" : "worse"}`;
}

export function percentileCell(
  run: ResultRun,
  metric: string,
  wanted = 0.99,
): Omit<RowCell, "run"> {
  const quantile = run.metrics[metric]?.quantiles.find(({ q }) => q === wanted);
  if (quantile === undefined) return plain(null, 0);
  const { value, low, high, n, beyond } = quantile;
  return { value, low, high, n, grey: beyond < 10 };
}

function gauge(run: ResultRun, name: string): Omit<RowCell, "run"> {
  const found = run.gauges[name];
  return plain(found?.value ?? null, found?.n ?? 0);
}

function plain(value: number | null, n: number): Omit<RowCell, "run"> {
  return { value, low: null, high: null, n, grey: false };
}
