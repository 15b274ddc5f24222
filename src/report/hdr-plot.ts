/**
 * The percentile plot of HdrHistogram as SVG: x is 1/(1−p) and y the value, both on log axes. A line is grey and dashed
 * where fewer than ten samples lie beyond. Lines differ in colour and in the shape of their marks.
 */
import type { ResultDistribution } from "../load/index.ts";
import { type LogAxis, logAxis, onAxis, tickLabel } from "./log-axis.ts";
import { html, type Markup, NOTHING } from "./markup.ts";
import {
  type CurvePoint,
  NINES_MAX,
  type PercentileCurve,
  percentileCurve,
} from "./percentile-curve.ts";

export interface PlotLine {
  /** Chooses colour and mark, the same in all charts of a group. */
  readonly series: number;
  readonly metric: ResultDistribution;
}

const WIDTH = 420;
const HEIGHT = 270;
const LEFT = 56;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 40;
/** Of a label's characters; a label that would touch the one before is left out, its line stays. */
const LABEL_CHARACTER = 6.4;
const LABEL_GAP = 4;

/** As many as the style sheet has; grey is kept for what is not to be trusted. */
const SERIES_COLOURS = 6;

/** Centred on 0,0. */
const MARKS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
  "M-3.5-3.5h7v7h-7z",
  "M0-4.6L4.4 3.4H-4.4z",
  "M0-5L5 0L0 5L-5 0z",
  "M0 4.6L4.4-3.4H-4.4z",
  "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
] as const;

interface Scale {
  readonly nines: number;
  readonly axis: LogAxis;
}

/** @returns nothing if no line has a sample. @param label names the chart to those who do not see it. */
export function hdrPlot(label: string, lines: readonly PlotLine[]): Markup {
  const drawn = lines
    .map(({ series, metric }) => ({ series, metric, curve: percentileCurve(metric.histogram) }))
    .filter(({ curve }) => curve.thin.length > 0);
  const first = drawn[0];
  if (first === undefined) return NOTHING;
  const points = drawn.flatMap(({ curve }) => [...curve.trusted, ...curve.thin]);
  const values = points.map(({ value }) => value);
  const scale: Scale = {
    nines: Math.max(1, ...points.map(({ x }) => x)),
    axis: logAxis(Math.min(...values), Math.max(...values)),
  };
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${xAxis(scale)}${yAxis(scale, first.metric.unit)}
${drawn.map(({ series, curve }) => curveMarkup(series, curve, scale))}</svg>`;
}

/** The mark of a series, for a legend. */
export function legendMark(series: number): Markup {
  return html`<svg class="key s${series % SERIES_COLOURS}" viewBox="-13 -6 26 12" aria-hidden="true"><path class="line" d="M-12 0H12"/><path class="mark" d="${MARKS[series % MARKS.length]}"/></svg>`;
}

function xOf(nines: number, scale: Scale): number {
  return round(LEFT + (nines / scale.nines) * (WIDTH - LEFT - RIGHT));
}

function yOf(value: number, scale: Scale): number {
  return round(HEIGHT - BOTTOM - onAxis(scale.axis, value) * (HEIGHT - TOP - BOTTOM));
}

const TICKS = [0, Math.log10(2), ...Array.from({ length: NINES_MAX }, (_, nine) => nine + 1)];

function xAxis(scale: Scale): Markup {
  const bottom = HEIGHT - BOTTOM;
  let freeFrom = Number.NEGATIVE_INFINITY;
  const drawn = TICKS.filter((nines) => nines <= scale.nines + 1e-9).map((nines) => {
    const x = xOf(nines, scale);
    const label = percentileName(nines);
    const half = (label.length * LABEL_CHARACTER) / 2;
    const middle = Math.min(x, WIDTH - half);
    const isFree = middle - half >= freeFrom;
    if (isFree) freeFrom = middle + half + LABEL_GAP;
    return html`<path class="grid" d="M${x} ${TOP}V${bottom}"/>${
      isFree && html`<text x="${middle}" y="${bottom + 15}" text-anchor="middle">${label}</text>`
    }`;
  });
  return html`${drawn}<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">percentile</text>`;
}

/** 0, 50, 90, 99, 99.9 … */
function percentileName(nines: number): string {
  return String(Number((100 * (1 - 10 ** -nines)).toFixed(Math.max(0, Math.ceil(nines) - 2))));
}

function yAxis(scale: Scale, unit: ResultDistribution["unit"]): Markup {
  const drawn = scale.axis.ticks.map((value) => {
    const y = yOf(value, scale);
    return html`<path class="grid" d="M${LEFT} ${y}H${WIDTH - RIGHT}"/><text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${tickLabel(value, unit)}</text>`;
  });
  return html`${drawn}`;
}

function curveMarkup(series: number, { trusted, thin }: PercentileCurve, scale: Scale): Markup {
  const marked = TICKS.filter((nines) => nines > 0).flatMap((nines) => {
    const value = valueAt(trusted, nines);
    return value === undefined ? [] : [{ x: xOf(nines, scale), y: yOf(value, scale) }];
  });
  const shape = MARKS[series % MARKS.length];
  return html`<g class="s${series % SERIES_COLOURS}">${polyline("thin", thin, scale)}${polyline("line", trusted, scale)}${marked.map(
    ({ x, y }) => html`<path class="mark" transform="translate(${x} ${y})" d="${shape}"/>`,
  )}</g>
`;
}

function polyline(kind: string, points: readonly CurvePoint[], scale: Scale): Markup {
  if (points.length < 2) return NOTHING;
  const path = points.map(({ x, value }) => `${xOf(x, scale)} ${yOf(value, scale)}`).join("L");
  return html`<path class="${kind}" d="M${path}"/>`;
}

/** On the drawn line, so that a mark never hangs beside it. */
function valueAt(points: readonly CurvePoint[], x: number): number | undefined {
  const after = points.findIndex((point) => point.x >= x);
  const right = points[after];
  if (right === undefined) return undefined;
  const left = points[after - 1] ?? right;
  if (left.x === right.x || left.value <= 0) return right.value;
  const share = (x - left.x) / (right.x - left.x);
  return left.value * (right.value / left.value) ** share;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
