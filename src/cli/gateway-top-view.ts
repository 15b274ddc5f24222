/** Draws one frame of `manx gateway top`: a function of the snapshot and the frame's size, without a terminal. */
import { stripVTControlCharacters } from "node:util";
import { formatUs, US_PER_S } from "../core/index.ts";
import type { BucketQuantile, TopRow, TopSnapshot } from "../gateway/seeing/index.ts";
import { COLOUR_INK, type Ink, PLAIN_INK } from "../report/ink.ts";
import { oneLine } from "../report/printable.ts";
import { type TextCell, textTable, wrapText } from "../report/text-table.ts";
import { BEYOND_MIN } from "../stats/index.ts";

export interface TopFrame {
  readonly columns: number;
  /** Lines that there are; the rest is left out and counted. */
  readonly rows: number;
  readonly color: boolean;
  /** Whose figures they are. */
  readonly where: string;
  /** What stands in the way of newer ones. */
  readonly fault?: string | undefined;
}

const HEADINGS = [
  "model / upstream",
  "req/s",
  "open",
  "TTFT p50",
  "p99",
  "n",
  "ITL p99",
  "n",
  "stalled",
  "failed",
  "retry/s",
  "hedge/s",
  "breaker",
  "conns",
];

/** @returns lines without their ends, none wider than the frame. */
export function drawTop(snapshot: TopSnapshot, frame: TopFrame): string[] {
  const ink = frame.color ? COLOUR_INK : PLAIN_INK;
  const lines = [
    ...headLines(snapshot, frame, ink),
    "",
    ...textTable(
      [HEADINGS.map((text) => ({ text, paint: ink.bold })), ...bodyRows(snapshot, ink)],
      frame.columns,
    ),
    ...(snapshot.rows.length === 0 ? [ink.dim("no model has been asked for yet")] : []),
    ...laneLines(snapshot, frame, ink),
  ];
  return cutOff(lines, frame.rows, ink);
}

function headLines(snapshot: TopSnapshot, frame: TopFrame, ink: Ink): string[] {
  const { windowS, isSinceStart, limit, lagP99 } = snapshot;
  const window = `${isSinceStart ? "since the start" : "last"} ${formatUs(windowS * US_PER_S)}`;
  const parts = [
    `${perS(snapshot.requestsPerS)} req/s`,
    `${snapshot.inFlight} open`,
    ...(limit === undefined ? [] : [`${limit} places`]),
    ...(snapshot.refusedPerS > 0 ? [ink.doubt(`${perS(snapshot.refusedPerS)} refused/s`)] : []),
    `loop lag p99 ${seconds(lagP99.valueS)}`,
    ...dropped(snapshot.linesDropped, "log lines", ink),
    ...dropped(snapshot.tracesDropped, "traces", ink),
  ];
  const title = [ink.bold("manx gateway top"), oneLine(frame.where)];
  const about = [`manx ${oneLine(snapshot.version)}`, window].map(ink.dim);
  const fault = frame.fault === undefined ? [] : wrapText(frame.fault, frame.columns).map(ink.bad);
  return [...flow([...title, ...about], frame.columns), ...flow(parts, frame.columns), ...fault];
}

/** Parts side by side as far as there is room; a part is never broken. */
function flow(parts: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}  ${part}`;
    if (line !== "" && stripVTControlCharacters(longer).length > columns) {
      lines.push(line);
      line = part;
    } else line = longer;
  }
  return [...lines, line];
}

function dropped(count: number, what: string, ink: Ink): string[] {
  return count > 0 ? [ink.bad(`${count} ${what} dropped`)] : [];
}

function bodyRows({ rows, models }: TopSnapshot, ink: Ink): TextCell[][] {
  const open = new Map(models.map(({ model, inFlight }) => [model, inFlight]));
  let last: string | undefined;
  return rows.map((row) => {
    // What is open is known by model alone, and stands in the model's first row.
    const isFirst = row.model !== last;
    last = row.model;
    return rowCells(row, isFirst ? String(open.get(row.model) ?? 0) : "", ink);
  });
}

function rowCells(row: TopRow, open: string, ink: Ink): TextCell[] {
  const { ttftP50, ttftP99, itlP99, breaker } = row;
  const plain = (text: string, paint?: (text: string) => string): TextCell =>
    paint === undefined ? { text } : { text, paint };
  return [
    plain(`${row.model} / ${row.upstream}`),
    plain(perS(row.callsPerS)),
    plain(open),
    figure(ttftP50, ink),
    figure(ttftP99, ink),
    plain(count(ttftP99.n), ink.dim),
    figure(itlP99, ink),
    plain(count(itlP99.n), ink.dim),
    plain(share(row.stalledShare), row.stalledShare > 0 ? ink.doubt : undefined),
    plain(share(row.failedShare), row.failedShare > 0 ? ink.bad : undefined),
    plain(perS(row.retriesPerS)),
    plain(perS(row.hedgesPerS)),
    plain(breaker, breaker === "closed" ? ink.dim : ink.bad),
    plain(`${row.connectionsOpen} (${row.connectionsIdle})`),
  ];
}

/** In brackets, and grey, where fewer than ten lie beyond it. */
function figure(quantile: BucketQuantile, ink: Ink): TextCell {
  if (quantile.n === 0) return { text: "–", paint: ink.dim };
  const text = seconds(quantile.valueS);
  return quantile.beyond >= BEYOND_MIN ? { text } : { text: `(${text})`, paint: ink.dim };
}

function laneLines({ lanes }: TopSnapshot, { columns }: TopFrame, ink: Ink): string[] {
  if (lanes.length === 0) return [];
  const headings = ["lane", "queued", "oldest", "open", "wait p99", "n"];
  const rows = lanes.map((lane): TextCell[] => [
    { text: lane.lane },
    lane.queued > 0 ? { text: String(lane.queued), paint: ink.doubt } : { text: "0" },
    { text: lane.queued > 0 ? seconds(lane.oldestS) : "–" },
    { text: String(lane.inFlight) },
    figure(lane.waitP99, ink),
    { text: count(lane.waitP99.n), paint: ink.dim },
  ]);
  return [
    "",
    ...textTable([headings.map((text) => ({ text, paint: ink.bold })), ...rows], columns),
  ];
}

function seconds(valueS: number): string {
  if (Number.isNaN(valueS)) return "–";
  return valueS === Number.POSITIVE_INFINITY ? "off scale" : formatUs(valueS * US_PER_S);
}

function perS(value: number): string {
  if (value === 0) return "0";
  return value < 0.1 ? "<0.1" : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function share(value: number): string {
  if (Number.isNaN(value)) return "–";
  const percent = value * 100;
  if (percent === 0) return "0 %";
  return percent < 0.1 ? "<0.1 %" : `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

function count(n: number): string {
  if (n < 10_000) return String(Math.round(n));
  return n < 9_950_000 ? `${Math.round(n / 1_000)}k` : `${Math.round(n / 1e6)}M`;
}

function cutOff(lines: readonly string[], rows: number, ink: Ink): string[] {
  if (lines.length <= rows) return [...lines];
  const shown = lines.slice(0, Math.max(1, rows - 1));
  return [
    ...shown,
    ink.dim(`… ${lines.length - shown.length} more lines; a larger window shows them`),
  ];
}
