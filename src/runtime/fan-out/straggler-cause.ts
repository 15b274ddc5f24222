/** Who comes last when it is slow, by how much, and what of it is slow. */
import { sampleQuantile } from "../../stats/index.ts";
import type { BranchSample, FanOutRow } from "./fan-out-samples.ts";

export interface Straggler {
  /** The branch that came last most often among the slowest. */
  readonly branch: string;
  /** Share of the slowest in which it did; 1/branches if it is mere chance. */
  readonly share: number;
  /** Median of last minus second-last among the slowest, µs. */
  readonly gapUs: number;
  /** The part that was longest beyond its own median in whichever branch came last; null without parts. */
  readonly part: string | null;
  /** Share of the lost time that lies in this part. */
  readonly partShare: number;
  /** Slowest requests that were looked at. */
  readonly n: number;
}

/** @param totals µs of each row. @param guard the quantile beyond which a row counts as slow. */
export function findStraggler(
  branches: readonly string[],
  rows: readonly FanOutRow[],
  totals: ArrayLike<number>,
  guard: number,
): Straggler | null {
  if (rows.length === 0 || branches.length === 0) return null;
  const limitUs = sampleQuantile(Float64Array.from(totals).sort(), guard).value;
  const slow = rows.filter((_, i) => totals[i]! >= limitUs);
  const lasts = new Float64Array(branches.length);
  const gaps: number[] = [];
  const excess = new Map<string, number>();
  const medians = partMedians(rows);
  for (const { samples } of slow) {
    const byEnd = [...samples.keys()].sort((a, b) => samples[b]!.us - samples[a]!.us);
    const [last, before] = [byEnd[0]!, byEnd[1]];
    lasts[last]! += 1;
    gaps.push(samples[last]!.us - (before === undefined ? 0 : samples[before]!.us));
    addExcess(excess, samples[last]!, medians);
  }
  const branch = lasts.indexOf(Math.max(...lasts));
  const [worst] = [...excess].sort((a, b) => b[1] - a[1]);
  const lostUs = [...excess.values()].reduce((sum, us) => sum + us, 0);
  return {
    branch: branches[branch]!,
    share: lasts[branch]! / slow.length,
    gapUs: sampleQuantile(Float64Array.from(gaps).sort(), 0.5).value,
    part: worst?.[0] ?? null,
    partShare: worst === undefined || lostUs === 0 ? 0 : worst[1] / lostUs,
    n: slow.length,
  };
}

function partMedians(rows: readonly FanOutRow[]): ReadonlyMap<string, number> {
  const times = new Map<string, number[]>();
  for (const { samples } of rows) {
    for (const { parts = {} } of samples) {
      for (const [name, us] of Object.entries(parts)) {
        const known = times.get(name);
        if (known === undefined) times.set(name, [us]);
        else known.push(us);
      }
    }
  }
  return new Map(
    [...times].map(([name, all]) => [
      name,
      sampleQuantile(Float64Array.from(all).sort(), 0.5).value,
    ]),
  );
}

function addExcess(
  excess: Map<string, number>,
  { parts = {} }: BranchSample,
  medians: ReadonlyMap<string, number>,
): void {
  for (const [name, us] of Object.entries(parts)) {
    const beyondUs = Math.max(0, us - medians.get(name)!);
    excess.set(name, (excess.get(name) ?? 0) + beyondUs);
  }
}
