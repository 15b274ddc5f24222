/**
 * Rows of the Azure LLM inference traces (github.com/Azure/AzurePublicDataset): a CSV with the columns TIMESTAMP,
 * ContextTokens and GeneratedTokens. Columns are found by name, so more of them or another order is fine; Priority and
 * Tenant, which Azure's own traces do not have, are read where they are there. Times are
 * UTC, `2023-11-16 18:15:46.6805900` or, in the traces of 2024, with an offset `+00:00`; read digit by digit, since
 * `Date` would drop everything below a millisecond.
 */
import { ManxError } from "../core/index.ts";
import {
  callerOf,
  excerpt,
  isProblem,
  isTokenCount,
  lengthProblem,
  type RowParser,
  type RowProblem,
  type TraceInstant,
  type TraceRow,
} from "./trace-row.ts";

const COLUMNS = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"] as const;

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))?$/;

/** Whether a first line is meant as this format, even if it is not whole. */
export function isAzureHeader(line: string): boolean {
  const found = splitRow(line).map((name) => name.toLowerCase());
  return COLUMNS.some((name) => found.includes(name.toLowerCase()));
}

/** @throws MANX_TRACE_FORMAT if a column is missing or named twice. */
export function azureParser(header: string, where: string): RowParser {
  const found = splitRow(header);
  const [time, prompt, output] = COLUMNS.map((name) => columnOf(found, name, where)) as [
    number,
    number,
    number,
  ];
  const priority = optionalColumnOf(found, "Priority", where);
  const tenant = optionalColumnOf(found, "Tenant", where);
  return {
    format: "azure-llm",
    parse(line: string): TraceRow | RowProblem {
      const cells = splitRow(line);
      if (cells.length !== found.length) {
        return { expected: `${found.length} columns`, got: `${cells.length} in ${excerpt(line)}` };
      }
      const instant = parseTimestamp(cells[time]!);
      if (instant === undefined) {
        return {
          expected: "TIMESTAMP such as 2023-11-16 18:15:46.6805900",
          got: excerpt(cells[time]),
        };
      }
      const promptTokens = wholeNumber(cells[prompt]!);
      if (!isTokenCount(promptTokens)) return lengthProblem("ContextTokens", cells[prompt]);
      const outputTokens = wholeNumber(cells[output]!);
      if (!isTokenCount(outputTokens)) return lengthProblem("GeneratedTokens", cells[output]);
      const urgency = priority === undefined ? undefined : wholeNumber(cells[priority]!);
      const caller = callerOf(urgency, tenant === undefined ? undefined : cells[tenant]);
      if (isProblem(caller)) return caller;
      return { instant, promptTokens, outputTokens, ...caller };
    },
  };
}

function columnOf(found: readonly string[], name: string, where: string): number {
  const wanted = name.toLowerCase();
  const index = found.findIndex((column) => column.toLowerCase() === wanted);
  if (index >= 0 && !found.slice(index + 1).some((column) => column.toLowerCase() === wanted)) {
    return index;
  }
  throw new ManxError("MANX_TRACE_FORMAT", {
    what: `a trace whose header has the column ${name} ${index < 0 ? "not at all" : "twice"}`,
    where,
    expected: `the columns ${COLUMNS.join(", ")}`,
    got: excerpt(found.join(",")),
  });
}

function optionalColumnOf(
  found: readonly string[],
  name: string,
  where: string,
): number | undefined {
  const isThere = found.some((column) => column.toLowerCase() === name.toLowerCase());
  return isThere ? columnOf(found, name, where) : undefined;
}

/** No value of these columns needs quotes, but a spreadsheet may have put some around them. */
function splitRow(line: string): string[] {
  return line.split(",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
}

function wholeNumber(text: string): number {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

/** Undefined if the text is no time that a calendar has. */
export function parseTimestamp(text: string): TraceInstant | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const days = daysFromEpoch(part(1), part(2), part(3));
  // Sixty seconds are allowed: a leap second is a time that clocks have shown.
  if (days === undefined || part(4) > 23 || part(5) > 59 || part(6) > 60) return undefined;
  const offsetMinutes = part(9) * 60 + part(10);
  const offsetS = (match[8] === "-" ? -60 : 60) * offsetMinutes;
  return {
    second: days * 86_400 + part(4) * 3_600 + part(5) * 60 + part(6) - offsetS,
    nano: Number((match[7] ?? "").padEnd(9, "0")),
  };
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Days from 1970-01-01 in the Gregorian calendar; undefined for a date that it does not have. */
function daysFromEpoch(year: number, month: number, day: number): number | undefined {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const length = MONTH_DAYS[month - 1];
  if (length === undefined || day < 1 || day > length + (leap && month === 2 ? 1 : 0)) {
    return undefined;
  }
  let days = day - 1;
  for (let before = 0; before < month - 1; before += 1) days += MONTH_DAYS[before]!;
  if (leap && month > 2) days += 1;
  return days + daysBefore(year) - daysBefore(1970);
}

/** Days from the first day of year 1 to that of `year`. */
function daysBefore(year: number): number {
  const whole = year - 1;
  return whole * 365 + Math.floor(whole / 4) - Math.floor(whole / 100) + Math.floor(whole / 400);
}
