/** Recorded fan-outs as numbers: one row a request, so that what the branches share, such as a slow hour, stays together. */

/** Whole µs, with what it consisted of if that is known. */
export interface BranchSample {
  readonly us: number;
  /** µs by name, such as `{ retrieval: 20e6, model: 2e6 }`. */
  readonly parts?: Readonly<Record<string, number>>;
}

export interface FanOutSamples {
  readonly branches: readonly string[];
  /** Per request one sample per branch, in the order of `branches`. Rows that cannot be read are set aside and counted. */
  readonly rows: ReadonlyArray<readonly (number | BranchSample)[]>;
  /** µs after the join, of all rows or of each: merging, deduplicating, waiting for a rate limit. Default 0. */
  readonly mergeUs?: number | readonly number[];
  /** Requests without fan-out, µs each. Default: the same branches one after the other. */
  readonly before?: readonly number[];
  /** Per request. */
  readonly tokens?: { readonly fanOut: number; readonly before: number };
}

export interface FanOutRow {
  readonly samples: readonly BranchSample[];
  readonly mergeUs: number;
}

/** More say nothing that these do not, and cost time. */
const ROWS_MAX = 20_000;

export interface ReadRows {
  readonly rows: readonly FanOutRow[];
  readonly setAside: number;
  /** Good rows that were left out, evenly, since there are too many. */
  readonly leftOut: number;
}

export function readRows({ branches, rows, mergeUs = 0 }: FanOutSamples): ReadRows {
  const good: FanOutRow[] = [];
  for (const [i, row] of rows.entries()) {
    const merge = typeof mergeUs === "number" ? mergeUs : (mergeUs[i] ?? Number.NaN);
    const samples = row.map((one) => (typeof one === "number" ? { us: one } : one));
    const isGood = samples.length === branches.length && samples.every((one) => isTime(one?.us));
    if (isGood && isTime(merge)) good.push({ samples, mergeUs: merge });
  }
  const kept = thinned(good);
  return { rows: kept, setAside: rows.length - good.length, leftOut: good.length - kept.length };
}

export function readTimes(times: readonly number[]): readonly number[] {
  return thinned(times.filter(isTime));
}

function isTime(us: unknown): boolean {
  return typeof us === "number" && Number.isFinite(us) && us >= 0;
}

function thinned<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length <= ROWS_MAX) return items;
  return Array.from(
    { length: ROWS_MAX },
    (_, i) => items[Math.floor((i * items.length) / ROWS_MAX)]!,
  );
}
