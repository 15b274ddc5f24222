/**
 * One row of a log, checked: what cannot be true of a request is a problem with its column and its reason, not an
 * exception. Times stay those of the log's own clock until all rows are known.
 */
import type { LogColumn, LogColumns, LogField } from "./log-columns.ts";

/** A request whose arrival still counts from the log's own zero. */
export interface RawRequest {
  readonly arrivalUs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Durations, or instants on the clock of `queuedUs`. */
  readonly firstUs: number;
  readonly lastUs: number;
  readonly isInstant: boolean;
  readonly queuedUs: number | undefined;
  readonly gapsUs: readonly number[] | undefined;
}

export interface RowProblem {
  readonly expected: string;
  readonly got: string;
}

export type RowResult = RawRequest | RowProblem | "failed";

export function isProblem(result: RowResult): result is RowProblem {
  return typeof result === "object" && "expected" in result;
}

const TOKENS_MAX = 100_000_000;
/** A day: a longer answer is a wrong unit. */
const DURATION_US_MAX = 86_400e6;

/** @param cell what the row holds in the column of that name. */
export function readRow(columns: LogColumns, cell: (column: string) => unknown): RowResult {
  const read = (field: LogField): unknown => {
    const column = columns[field];
    return column === undefined ? undefined : cell(column.name);
  };
  if (isFailure(read("error"))) return "failed";
  const named = (field: LogField): string => columns[field]?.name ?? field;
  const promptTokens = numberOf(read("promptTokens"));
  if (!isTokenCount(promptTokens))
    return wrong(`${named("promptTokens")} from 1`, read("promptTokens"));
  const outputTokens = numberOf(read("outputTokens"));
  if (!isTokenCount(outputTokens))
    return wrong(`${named("outputTokens")} from 1`, read("outputTokens"));
  const arrivalUs = instantUs(read("arrival"), columns.arrival);
  if (!Number.isFinite(arrivalUs)) return wrong(`a time in ${named("arrival")}`, read("arrival"));
  const gapsUs = gapsOf(read("gaps"), columns.gaps);
  if (gapsUs === "wrong") return wrong(`numbers from 0 in ${named("gaps")}`, read("gaps"));
  const times =
    columns.ttft === undefined ? instantsOf(columns, read) : durationsOf(columns, read, gapsUs);
  if ("expected" in times) return times;
  const isEach = gapsUs !== undefined && gapsUs.length === outputTokens - 1;
  return {
    arrivalUs,
    promptTokens,
    outputTokens,
    ...times,
    queuedUs: columns.queued === undefined ? undefined : instantUs(read("queued"), columns.queued),
    gapsUs: isEach ? gapsUs : undefined,
  };
}

type Times = Pick<RawRequest, "firstUs" | "lastUs" | "isInstant">;

function durationsOf(
  columns: LogColumns,
  read: (field: LogField) => unknown,
  gapsUs: readonly number[] | undefined,
): Times | RowProblem {
  const ttft = columns.ttft!;
  const firstUs = numberOf(read("ttft")) * ttft.unitUs;
  if (!(firstUs > 0 && firstUs <= DURATION_US_MAX)) {
    return wrong(`${ttft.name} above 0 and up to a day`, read("ttft"));
  }
  if (columns.e2e === undefined) {
    if (gapsUs === undefined) return wrong("gaps between tokens", read("gaps"));
    return { firstUs, lastUs: gapsUs.reduce((sum, gap) => sum + gap, firstUs), isInstant: false };
  }
  const lastUs = numberOf(read("e2e")) * columns.e2e.unitUs;
  // A client may round both to whole milliseconds.
  if (!(lastUs >= firstUs - 1 && lastUs <= DURATION_US_MAX)) {
    return wrong(`${columns.e2e.name} from ${ttft.name} up to a day`, read("e2e"));
  }
  return { firstUs, lastUs: Math.max(firstUs, lastUs), isInstant: false };
}

function instantsOf(columns: LogColumns, read: (field: LogField) => unknown): Times | RowProblem {
  const firstUs = instantUs(read("firstToken"), columns.firstToken);
  if (!Number.isFinite(firstUs))
    return wrong(`a time in ${columns.firstToken?.name}`, read("firstToken"));
  const lastUs = instantUs(read("lastToken"), columns.lastToken);
  if (!(lastUs >= firstUs && lastUs - firstUs <= DURATION_US_MAX)) {
    return wrong(
      `${columns.lastToken?.name ?? "a last token"} not before the first`,
      read("lastToken"),
    );
  }
  return { firstUs, lastUs, isInstant: true };
}

/** Numbers between tokens in µs; from a list, or from text such as `[0.01, 0.02]` or `0.01;0.02`. */
function gapsOf(
  value: unknown,
  column: LogColumn | undefined,
): readonly number[] | undefined | "wrong" {
  if (column === undefined || value === undefined || value === null || value === "")
    return undefined;
  const list = Array.isArray(value)
    ? value
    : String(value)
        .replace(/^\[|\]$/g, "")
        .split(/[;,\s]+/)
        .filter((part) => part !== "");
  const gaps = list.map((one) => numberOf(one) * column.unitUs);
  return gaps.every((gap) => gap >= 0 && gap <= DURATION_US_MAX) ? gaps : "wrong";
}

/** NaN for what is no number: an empty cell is no zero. */
function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return Number.NaN;
  return Number(value);
}

/** µs of a number in the column's unit or of a date; NaN for anything else. */
function instantUs(value: unknown, column: LogColumn | undefined): number {
  if (column === undefined) return Number.NaN;
  const number = numberOf(value);
  if (Number.isFinite(number)) return number * column.unitUs;
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d[ T]/.test(value)) return Number.NaN;
  // The calendar to whole seconds, the fraction digit by digit: a Date ends at the millisecond.
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? "";
  const text = value.replace(/\.\d+/, "").replace(" ", "T");
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`;
  return Date.parse(zoned) * 1e3 + (fraction === "" ? 0 : Number(`0.${fraction}`) * 1e6);
}

function isTokenCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= TOKENS_MAX;
}

function isFailure(error: unknown): boolean {
  return error !== undefined && error !== null && error !== "" && error !== false;
}

function wrong(expected: string, got: unknown): RowProblem {
  const text = JSON.stringify(got) ?? String(got);
  return { expected, got: text.length > 60 ? `${text.slice(0, 57)}...` : text };
}
