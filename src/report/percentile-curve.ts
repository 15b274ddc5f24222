/**
 * A histogram as a line over percentiles. x is log10(1/(1−p)), the axis of Gil Tene's percentile plots: each further nine
 * has the same room. The value at x is the order statistic of rank ⌈p·n⌉, the same as in the tables.
 */
import type { ResultDistribution } from "../load/index.ts";
import { Histogram, quantileRank } from "../stats/index.ts";
import { isGrey } from "./figure.ts";

export interface CurvePoint {
  readonly x: number;
  readonly value: number;
}

export interface PercentileCurve {
  /** Where at least ten samples lie beyond. */
  readonly trusted: readonly CurvePoint[];
  /** The rest, to the maximum; begins where the trusted part ends. */
  readonly thin: readonly CurvePoint[];
}

/** Points a line has for each further nine, and in all. */
const STEPS_PER_NINE = 24;
export const NINES_MAX = 6;
/** Beyond 1 − 1/n every percentile is the maximum: a little of that is drawn, so that it can be seen. */
const MAX_ROOM = 0.1;

/** @returns two empty parts if there is no sample. */
export function percentileCurve(source: ResultDistribution["histogram"]): PercentileCurve {
  const histogram = Histogram.fromJSON(source);
  const { n } = histogram;
  const trusted: CurvePoint[] = [];
  const thin: CurvePoint[] = [];
  if (n === 0) return { trusted, thin };
  const end = Math.min(NINES_MAX, Math.log10(n) + MAX_ROOM);
  const steps = Math.max(1, Math.ceil(end * STEPS_PER_NINE));
  for (let step = 0; step <= steps; step += 1) {
    const x = (step / steps) * end;
    const rank = quantileRank(Math.max(1 - 10 ** -x, Number.EPSILON), n);
    const point = { x, value: histogram.atRank(rank) };
    if (isGrey(n - rank)) thin.push(point);
    else trusted.push(point);
  }
  const last = trusted.at(-1);
  return {
    trusted: withoutFlats(trusted),
    thin: withoutFlats(last === undefined ? thin : [last, ...thin]),
  };
}

/** Leaves out points between two of the same value: they add bytes and no ink. */
function withoutFlats(points: readonly CurvePoint[]): CurvePoint[] {
  return points.filter(
    ({ value }, index) => value !== points[index - 1]?.value || value !== points[index + 1]?.value,
  );
}
