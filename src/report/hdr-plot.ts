/**
 * The percentile plot of HdrHistogram as SVG: x is 1/(1−p) on a log axis, so that each further nine has the same room; y is
 * the value on a log axis. The part of a line beyond which fewer than ten samples lie is dashed.
 */
import type { ResultDistribution } from "../load/index.ts";
import { Histogram, quantileRank } from "../stats/index.ts";
import { formatFigure, formatPlain, isGrey } from "./figure.ts";
import { escapeHtml } from "./html-text.ts";

export interface PlotLine {
  readonly name: string;
  readonly metric: ResultDistribution;
}

/** Okabe and Ito's colours, which all common kinds of colour vision tell apart; yellow is left out on white. */
export const LINE_COLOURS = [
  "#0072B2",
  "#E69F00",
  "#009E73",
  "#D55E00",
  "#56B4E9",
  "#CC79A7",
  "#999999",
] as const;

const WIDTH = 680;
const HEIGHT = 300;
const LEFT = 64;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 40;
/** Points a line has for each further nine. */
const POINTS_PER_NINE = 24;
const NINES_MAX = 6;

interface Point {
  readonly nines: number;
  readonly value: number;
  readonly isGrey: boolean;
}

/** @returns an empty text if no line has a sample. */
export function hdrPlot(title: string, lines: readonly PlotLine[]): string {
  const drawn = lines
    .map((line, index) => ({
      line,
      points: pointsOf(line.metric),
      colour: LINE_COLOURS[index % LINE_COLOURS.length]!,
    }))
    .filter(({ points }) => points.length > 0);
  if (drawn.length === 0) return "";
  const all = drawn.flatMap(({ points }) => points);
  const scale = makeScale(all);
  const unit = drawn[0]!.line.metric.unit;
  const legend = drawn
    .map(
      ({ line, colour }) =>
        `<li><span class="key" style="background:${colour}"></span>${escapeHtml(line.name)} ` +
        `<small>n ${formatPlain(line.metric.histogram.n)}</small></li>`,
    )
    .join("");
  return (
    `<figure><figcaption>${escapeHtml(title)}</figcaption>` +
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}: value by percentile">` +
    xAxis(scale) +
    yAxis(scale, unit) +
    drawn
      .map(({ points, colour }, index) =>
        pathOf(points, { colour, width: 1.8 + 1.4 * (drawn.length - 1 - index) }, scale),
      )
      .join("") +
    `</svg><ul class="legend">${legend}</ul></figure>`
  );
}

function pointsOf(metric: ResultDistribution): Point[] {
  const histogram = Histogram.fromJSON(metric.histogram);
  const { n } = histogram;
  if (n === 0) return [];
  const points: Point[] = [];
  const last = Math.min(NINES_MAX, Math.log10(n));
  for (let k = 0; k <= Math.ceil(last * POINTS_PER_NINE); k += 1) {
    const nines = Math.min(last, k / POINTS_PER_NINE);
    const rank = quantileRank(Math.max(1e-12, 1 - 10 ** -nines), n);
    // A log axis has no zero; the smallest thing that is measured stands for it.
    points.push({ nines, value: Math.max(1, histogram.atRank(rank)), isGrey: isGrey(n - rank) });
  }
  return points;
}

interface Scale {
  readonly x: (nines: number) => number;
  readonly y: (value: number) => number;
  readonly nines: number;
  readonly low: number;
  readonly high: number;
}

function makeScale(points: readonly Point[]): Scale {
  const nines = Math.max(1, ...points.map((point) => point.nines));
  const values = points.map((point) => point.value);
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    nines,
    low,
    high,
    x: (at) => LEFT + (at / nines) * (WIDTH - LEFT - RIGHT),
    y: (value) => TOP + ((high - Math.log10(value)) / (high - low)) * (HEIGHT - TOP - BOTTOM),
  };
}

function xAxis(scale: Scale): string {
  const bottom = HEIGHT - BOTTOM;
  const ticks = [0, Math.log10(2), 1, 2, 3, 4, 5, 6].filter((nines) => nines <= scale.nines + 1e-9);
  return (
    ticks
      .map((nines) => {
        const x = round(scale.x(nines));
        const anchor = x > WIDTH - RIGHT - 20 ? "end" : "middle";
        return (
          `<line class="grid" x1="${x}" y1="${TOP}" x2="${x}" y2="${bottom}"/>` +
          `<text x="${x}" y="${bottom + 16}" text-anchor="${anchor}">${percentileName(nines)}</text>`
        );
      })
      .join("") +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">percentile</text>`
  );
}

/** 0, 50, 90, 99, 99.9 … */
function percentileName(nines: number): string {
  if (nines === 0) return "0";
  if (nines < 1) return "50";
  return String(Number((100 * (1 - 10 ** -nines)).toFixed(Math.max(0, nines - 2))));
}

function yAxis(scale: Scale, unit: ResultDistribution["unit"]): string {
  let marks = "";
  for (let power = scale.low; power <= scale.high; power += 1) {
    const y = round(scale.y(10 ** power));
    marks +=
      `<line class="grid" x1="${LEFT}" y1="${y}" x2="${WIDTH - RIGHT}" y2="${y}"/>` +
      `<text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${escapeHtml(formatFigure(10 ** power, unit))}</text>`;
  }
  return marks;
}

/** Earlier lines are wider, so that one which lies under another still shows at its edges. */
function pathOf(
  points: readonly Point[],
  { colour, width }: { colour: string; width: number },
  scale: Scale,
): string {
  const firstGrey = points.findIndex((point) => point.isGrey);
  const solid = firstGrey < 0 ? points : points.slice(0, firstGrey);
  // The dashed part begins where the solid one ends, so that there is no gap.
  const dashed = firstGrey < 0 ? [] : points.slice(Math.max(0, firstGrey - 1));
  const line = (part: readonly Point[], extra: string): string =>
    part.length < 2
      ? ""
      : `<polyline fill="none" stroke="${colour}" stroke-width="${round(width)}"${extra} points="${part
          .map((point) => `${round(scale.x(point.nines))},${round(scale.y(point.value))}`)
          .join(" ")}"/>`;
  return line(solid, "") + line(dashed, ' stroke-dasharray="4 4" opacity="0.6"');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
