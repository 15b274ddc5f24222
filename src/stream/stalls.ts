/**
 * Pauses inside a stream. They are reported per stream, as count, time and place: pooled percentiles of gaps hide them
 * (casebook LD-04). A pause before the first output belongs to TTFT and one after the last to E2E; neither is a stall.
 */

export const STALL_MIN_US = 1_000_000;
const STALL_MEDIANS = 5;
/** With fewer gaps a median says nothing about the stream. */
const GAPS_FOR_MEDIAN = 5;

export interface Stalls {
  readonly count: number;
  /** Sum of the gaps that are stalls. */
  readonly stalledUs: number;
  /** The largest chunk gap, stall or not; null without gaps. */
  readonly worstGapUs: number | null;
  /** For each stall the number of tokens before it; the first 100 stalls of those chunks whose gaps are kept. */
  readonly positions: readonly number[];
}

/**
 * @param gapsUs all chunk gaps of the stream.
 * @returns a gap above this is a stall: 1 s, or 5 × the stream's own (lower) median gap if that is more.
 */
export function stallThresholdUs(gapsUs: readonly number[]): number {
  if (gapsUs.length < GAPS_FOR_MEDIAN) return STALL_MIN_US;
  const sorted = Float64Array.from(gapsUs).sort();
  const median = sorted[Math.ceil(sorted.length / 2) - 1]!;
  return Math.max(STALL_MIN_US, STALL_MEDIANS * median);
}
