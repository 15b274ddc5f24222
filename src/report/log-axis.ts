/** A logarithmic axis of values: its ends on round figures, its ticks where people expect them. */
import { US_PER_MS, US_PER_S } from "../core/index.ts";
import type { ResultDistribution } from "../load/index.ts";
import { formatFigure } from "./figure.ts";

export interface LogAxis {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
}

const STEPS = [1, 2, 5] as const;
const TICKS_MAX = 7;
/** The floor of a logarithm's axis: one microsecond, one token. */
const FLOOR = 1;

/** @param least, most of what is drawn; what is below 1 is drawn at 1. */
export function logAxis(least: number, most: number): LogAxis {
  const bottom = Math.max(FLOOR, least);
  const top = Math.max(bottom, most);
  const rounds = roundsWithin(bottom, top);
  const low = rounds[0]!;
  const high = rounds.at(-1)!;
  return { low, high, ticks: thinned(rounds) };
}

/** Place on the axis, 0 at the low end and 1 at the high end. */
export function onAxis(axis: LogAxis, value: number): number {
  const clamped = Math.min(axis.high, Math.max(axis.low, value));
  return Math.log(clamped / axis.low) / Math.log(axis.high / axis.low);
}

export function tickLabel(value: number, unit: ResultDistribution["unit"]): string {
  if (unit !== "us") return formatFigure(value, unit);
  if (value < US_PER_MS) return `${value} µs`;
  return value < US_PER_S ? `${value / US_PER_MS} ms` : `${value / US_PER_S} s`;
}

/** 1, 2 and 5 times powers of ten from the last at or below `bottom` to the first at or above `top`; two at least. */
function roundsWithin(bottom: number, top: number): number[] {
  const rounds: number[] = [];
  // One decade early: the logarithm of a number just below a power of ten may round up to it.
  const start = Math.max(0, Math.floor(Math.log10(bottom)) - 1);
  for (let decade = 10 ** start; ; decade *= 10) {
    for (const step of STEPS) {
      const round = Math.round(step * decade);
      if (round <= bottom) rounds.length = 0;
      rounds.push(round);
      if (round >= top && rounds.length > 1) return rounds;
    }
  }
}

/** All if there are few; otherwise powers of ten, and of those as many as are legible. */
function thinned(rounds: readonly number[]): number[] {
  if (rounds.length <= TICKS_MAX) return [...rounds];
  const decades = rounds.filter((round) => Number.isInteger(Math.log10(round)));
  const every = Math.ceil(decades.length / TICKS_MAX);
  return decades.filter((_, index) => index % every === 0);
}
