/**
 * One turn for a terminal: a bar for each phase, then the tree of spans against time with the critical path in it. What is
 * not known is said in words. Drawn from the turn document and nothing else.
 *
 *     █ on the critical path   ▒ on it, waiting   ░ in a child, or beside the path
 */
import { formatUs } from "../core/index.ts";
import { PHASES, type TurnRecord } from "../trace/index.ts";
import { formatFigure } from "./figure.ts";
import { COLOUR_INK, type Ink, PLAIN_INK } from "./ink.ts";
import { oneLine } from "./printable.ts";
import type { TerminalOptions } from "./terminal.ts";
import { displayWidth, wrapText } from "./text-table.ts";
import { type TreeRow, turnRows } from "./turn-rows.ts";

const COLUMNS_MIN = 40;
/** Below this the time axis would be too short to tell anything; the tree stands alone. */
const COLUMNS_WITH_AXIS = 70;
const ROWS_MAX = 40;
const FINDINGS_SHOWN = 5;
const PHASE_WIDTH = 14;
const DURATION_WIDTH = 11;
const SHARE_WIDTH = 8;

interface Page {
  readonly ink: Ink;
  readonly columns: number;
}

export function renderTurn(turn: TurnRecord, options: TerminalOptions = {}): string {
  const page: Page = {
    ink: options.color === true ? COLOUR_INK : PLAIN_INK,
    columns: Math.max(COLUMNS_MIN, options.columns ?? 100),
  };
  const blocks = [headBlock(turn, page), phaseBlock(turn, page), treeBlock(turn, page)];
  const known = [...blocks, findingBlock(turn, page)].filter((block) => block.length > 0);
  return `${known.map((block) => block.join("\n")).join("\n\n")}\n`;
}

function headBlock(turn: TurnRecord, { ink, columns }: Page): string[] {
  const { cold, truncated, incomplete } = turn.flags;
  const facts = [
    turn.status,
    cold.length > 0 ? `cold (${cold.join(", ")})` : "warm",
    ...(incomplete ? ["incomplete"] : []),
    ...(truncated ? ["truncated"] : []),
    ...(turn.startedAt === null ? [] : [turn.startedAt]),
  ];
  const title = `${oneLine(turn.name)}: ${formatUs(turn.wallUs)}`;
  return [
    ink.bold(fitted(title, columns).trimEnd()),
    ...indented(`${facts.join(", ")}, trace ${turn.id}`, columns).map(ink.dim),
  ];
}

function phaseBlock(turn: TurnRecord, page: Page): string[] {
  const { ink, columns } = page;
  const shown = PHASES.filter((phase) => turn.phases[phase] > 0);
  const barWidth = Math.min(40, columns - 2 - PHASE_WIDTH - DURATION_WIDTH - SHARE_WIDTH - 1);
  return shown.flatMap((phase) => {
    const us = turn.phases[phase];
    const share = us / turn.wallUs;
    const cells = [
      phase.padEnd(PHASE_WIDTH),
      bar(share, barWidth),
      formatUs(us).padStart(DURATION_WIDTH),
      formatFigure(Number(share.toFixed(3)), "share").padStart(SHARE_WIDTH),
    ];
    const subs = turn.subs
      .filter((one) => one.phase === phase)
      .map(({ sub, us: subUs }) => `${sub} ${formatUs(subUs)}`);
    const line = `  ${cells.join("")}`;
    return [
      phase === "unattributed" ? ink.doubt(line) : line,
      ...(subs.length === 0
        ? []
        : indented(subs.join(", "), columns - 2).map((text) => ink.dim(`  ${text}`))),
    ];
  });
}

/** At least one mark for what is not nothing. */
function bar(share: number, width: number): string {
  const filled = Math.max(1, Math.round(share * width));
  return "█".repeat(Math.min(width, filled)) + " ".repeat(Math.max(0, width - filled));
}

function treeBlock(turn: TurnRecord, page: Page): string[] {
  const { rows, leftOut } = turnRows(turn, ROWS_MAX);
  const { ink, columns } = page;
  const hasAxis = columns >= COLUMNS_WITH_AXIS;
  const nameWidth = hasAxis
    ? Math.min(36, Math.floor(columns * 0.4))
    : columns - 2 - DURATION_WIDTH;
  const axisWidth = columns - 2 - nameWidth - DURATION_WIDTH - 1;
  const key = hasAxis
    ? "█ critical path  ▒ on it, waiting  ░ in a child, or beside it"
    : "* critical path";
  return [
    ink.dim(`  ${key}`),
    ...rows.map((row) => {
      const mark = hasAxis || row.pathUs === 0 ? "" : "* ";
      const name = fitted(
        "  ".repeat(Math.min(6, row.depth)) + mark + oneLine(row.label),
        nameWidth,
      );
      const axis = hasAxis ? ` ${axisOf(row, turn.wallUs, axisWidth)}` : "";
      const line = `  ${name}${axis}${formatUs(row.durationUs).padStart(DURATION_WIDTH)}`;
      return row.pathUs > 0 ? line : ink.dim(line);
    }),
    ...(leftOut > 0 ? [ink.dim(`  and ${leftOut} more spans, of less time on the path`)] : []),
  ];
}

function axisOf(row: TreeRow, wallUs: number, width: number): string {
  const cells = Array.from({ length: width }, () => " ");
  const draw = (startUs: number, endUs: number, sign: string): void => {
    const from = Math.min(width - 1, Math.max(0, Math.floor((startUs / wallUs) * width)));
    const to = Math.max(from + 1, Math.min(width, Math.round((endUs / wallUs) * width)));
    cells.fill(sign, from, to);
  };
  if (wallUs > 0 && row.endUs >= 0 && row.startUs <= wallUs) draw(row.startUs, row.endUs, "░");
  for (const { startUs, endUs, isWaiting } of row.sections)
    draw(startUs, endUs, isWaiting ? "▒" : "█");
  return cells.join("");
}

/** Exactly `width` columns: cut with an ellipsis, or filled. */
function fitted(text: string, width: number): string {
  if (displayWidth(text) <= width) return text + " ".repeat(width - displayWidth(text));
  let kept = "";
  for (const character of text) {
    if (displayWidth(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…${" ".repeat(Math.max(0, width - 1 - displayWidth(kept)))}`;
}

function findingBlock(turn: TurnRecord, { ink, columns }: Page): string[] {
  const { findings } = turn;
  const shown = findings.slice(0, FINDINGS_SHOWN).flatMap(({ text, startUs, endUs }) => {
    const time =
      startUs === null || endUs === null || endUs === startUs
        ? ""
        : ` (${formatUs(endUs - startUs)} from ${formatUs(startUs)} on)`;
    return indented(`? ${text}${time}`, columns);
  });
  const more = findings.length - FINDINGS_SHOWN;
  return [...shown, ...(more > 0 ? [`  and ${more} more findings`] : [])].map(ink.doubt);
}

function indented(text: string, columns: number): string[] {
  return wrapText(text, columns - 4).map((line, index) => (index === 0 ? "  " : "    ") + line);
}
