/** One figure as text: always with its unit, never `NaN`, the same in every form of the report. */
import { formatUs } from "../core/index.ts";
import type { ResultComparisonRow, ResultDistribution, ResultGauge } from "../load/index.ts";

export type FigureUnit =
  | ResultComparisonRow["unit"]
  | ResultGauge["unit"]
  | ResultDistribution["unit"];

export const NO_FIGURE = "–";

export function formatFigure(value: number | null | undefined, unit: FigureUnit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_FIGURE;
  switch (unit) {
    case "us":
      return formatUs(value);
    case "share":
      // 0.07 × 100 is 7.000000000000001, which is not whole.
      return `${formatPlain(Number((value * 100).toPrecision(12)))} %`;
    case "per-s":
      return `${formatPlain(value)}/s`;
    case "ratio":
      return `${formatPlain(value)}×`;
    case "bytes":
      return formatBytes(value);
    case "tokens":
    case "count":
      return formatPlain(value);
  }
}

/** What is smaller is as good as nothing in every unit that a figure has. */
const PLAIN_MIN = 1e-6;

/** Three significant digits, two below 1; whole numbers stay whole. Each limit is where the text would round over it. */
export function formatPlain(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size < PLAIN_MIN) return "≈ 0";
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  return size >= 9.995 ? value.toFixed(1) : size >= 0.995 ? value.toFixed(2) : value.toPrecision(2);
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

function formatBytes(value: number): string {
  let shown = value;
  let step = 0;
  while (Math.round(shown) >= 1_024 && step < BYTE_UNITS.length - 1) {
    shown /= 1_024;
    step += 1;
  }
  return `${formatPlain(shown)} ${BYTE_UNITS[step]}`;
}

/** Below ten samples beyond it a percentile says more about luck than about the tail. */
export function isGrey(beyond: number): boolean {
  return beyond < 10;
}
