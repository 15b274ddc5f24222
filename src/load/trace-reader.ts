/**
 * Reads a trace into the requests of a run. A malformed row is set aside, counted and named; above one row in a hundred
 * the trace is refused, since what is left would no longer be the trace. Rows that go back in time (logs of several
 * servers, merged) are put in order and counted.
 */
import { assert, ManxError, US_PER_S } from "../core/index.ts";
import { azureParser, isAzureHeader } from "./azure-trace.ts";
import { readLines } from "./line-reader.ts";
import { mooncakeParser } from "./mooncake-trace.ts";
import {
  excerpt,
  isProblem,
  type RowParser,
  type TraceInstant,
  type TraceRow,
} from "./trace-row.ts";
import type { WorkRequest } from "./work-request.ts";

export interface TraceOptions {
  /** Reads no further than this many usable rows. Default: all, at most `ROWS_MAX`. */
  readonly limit?: number;
  /** Leaves out what comes before this time of the trace; the run then begins there. Default 0. */
  readonly fromUs?: number;
  /** Length of the window in the trace's own time. Default: to its end. */
  readonly durationUs?: number;
  /** Time compression: 10 replays an hour in six minutes. Default 1. */
  readonly speed?: number;
}

export interface TraceProblem {
  /** Line of the file, from 1, header included. */
  readonly row: number;
  readonly expected: string;
  readonly got: string;
}

export interface Trace {
  readonly format: RowParser["format"];
  readonly path: string;
  /** In order of `atUs`, from 0 at the first row of the trace, or at the beginning of the window. */
  readonly requests: readonly WorkRequest[];
  /** Rows after the header that were read, with those set aside. */
  readonly rows: number;
  readonly setAside: number;
  /** The first few that were set aside. */
  readonly problems: readonly TraceProblem[];
  /** Rows earlier than the row before them. */
  readonly reordered: number;
}

/** Bound of memory: about 1 GB. */
const ROWS_MAX = 5_000_000;
const SET_ASIDE_SHARE_MAX = 0.01;
const PROBLEMS_SHOWN = 5;
/** Further than this from the first row, a time is a typing error; the longest public trace has 213 days. */
const SPAN_S_MAX = 400 * 86_400;

/**
 * @param path of an Azure CSV or Mooncake JSONL file, plain or gzipped; `-` for standard input.
 * @throws MANX_FILE_UNREADABLE, MANX_TRACE_FORMAT (in no known format, empty, too long), MANX_TRACE_ROWS (more than 1 %
 * of the rows malformed), MANX_CONFIG_IMPOSSIBLE (nothing within the window).
 */
export async function readTrace(path: string, options: TraceOptions = {}): Promise<Trace> {
  const { limit = ROWS_MAX, speed = 1 } = options;
  assert(limit >= 1 && speed > 0, "a trace is read with a limit of at least 1 and a speed above 0");
  const intake = new Intake(path);
  for await (const { row, text } of readLines(path)) {
    intake.line(row, text);
    if (intake.rows.length < limit) continue;
    if (options.limit === undefined) {
      throw new ManxError("MANX_TRACE_FORMAT", {
        what: "a trace with more rows than fit into memory",
        where: path,
        expected: `at most ${ROWS_MAX} rows`,
        hint: "read a part of it with a limit",
      });
    }
    break;
  }
  const parser = intake.finish();
  return {
    format: parser.format,
    path,
    requests: toRequests(intake.rows, path, options),
    rows: intake.rows.length + intake.setAside,
    setAside: intake.setAside,
    problems: intake.problems,
    reordered: intake.reordered,
  };
}

interface PlacedRow extends TraceRow {
  readonly row: number;
  /** From the first usable row; negative if it is earlier; 0.1 for 100 ns. */
  readonly sinceFirstUs: number;
}

class Intake {
  readonly rows: PlacedRow[] = [];
  readonly problems: TraceProblem[] = [];
  setAside = 0;
  reordered = 0;
  readonly #path: string;
  #parser: RowParser | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  line(row: number, text: string | null): void {
    if (text?.trim() === "") return;
    if (this.#parser === undefined) {
      this.#parser = detect(text ?? "", `${this.#path}:${row}`);
      if (this.#parser.format === "azure-llm") return;
    }
    if (text === null) {
      this.#problem(row, "a line of at most 4 MiB", "a longer one");
      return;
    }
    const parsed = this.#parser.parse(text);
    if (isProblem(parsed)) {
      this.#problem(row, parsed.expected, parsed.got);
      return;
    }
    const first = this.rows[0];
    const sinceFirstUs = first === undefined ? 0 : betweenUs(first.instant, parsed.instant);
    if (Math.abs(sinceFirstUs) > SPAN_S_MAX * US_PER_S) {
      this.#problem(row, "a time within 400 days of the first row's", excerpt(text));
      return;
    }
    if (sinceFirstUs < (this.rows.at(-1)?.sinceFirstUs ?? 0)) this.reordered += 1;
    this.rows.push({ ...parsed, row, sinceFirstUs });
  }

  /** @throws if what was read is no trace. */
  finish(): RowParser {
    const total = this.rows.length + this.setAside;
    if (this.#parser === undefined || total === 0) {
      throw new ManxError("MANX_TRACE_FORMAT", {
        what: this.#parser === undefined ? "a trace is empty" : "a trace has a header and no rows",
        where: this.#path,
      });
    }
    if (this.setAside > total * SET_ASIDE_SHARE_MAX) {
      const named = this.problems.map(
        ({ row, expected, got }) => `line ${row}: expected ${expected}, got ${got}`,
      );
      throw new ManxError("MANX_TRACE_ROWS", {
        where: `${this.#path}:${this.problems[0]!.row}`,
        expected: `at most ${SET_ASIDE_SHARE_MAX * 100} % malformed rows`,
        got: `${this.setAside} of ${total}; ${named.join("; ")}`,
        details: { setAside: this.setAside, rows: total, problems: this.problems },
      });
    }
    return this.#parser;
  }

  #problem(row: number, expected: string, got: string): void {
    this.setAside += 1;
    if (this.problems.length < PROBLEMS_SHOWN) this.problems.push({ row, expected, got });
  }
}

function detect(line: string, where: string): RowParser {
  if (line.trimStart().startsWith("{")) return mooncakeParser;
  if (isAzureHeader(line)) return azureParser(line, where);
  throw new ManxError("MANX_TRACE_FORMAT", {
    where,
    expected: "the header TIMESTAMP,ContextTokens,GeneratedTokens or a JSON object a line",
    got: excerpt(line),
  });
}

function betweenUs(from: TraceInstant, to: TraceInstant): number {
  return (to.second - from.second) * US_PER_S + (to.nano - from.nano) / 1_000;
}

function toRequests(
  rows: PlacedRow[],
  path: string,
  options: TraceOptions,
): readonly WorkRequest[] {
  const { fromUs = 0, durationUs = Number.POSITIVE_INFINITY, speed = 1 } = options;
  // Array.sort is stable: rows of one instant keep the file's order.
  rows.sort((a, b) => a.sinceFirstUs - b.sinceFirstUs);
  const startUs = (rows[0]?.sinceFirstUs ?? 0) + fromUs;
  const requests: WorkRequest[] = [];
  for (const { sinceFirstUs, promptTokens, outputTokens, blockHashes, row, ...rest } of rows) {
    const { priority, tenant } = rest;
    const atUs = sinceFirstUs - startUs;
    if (atUs < 0 || atUs >= durationUs) continue;
    requests.push({
      atUs: Math.round(atUs / speed),
      promptTokens,
      outputTokens,
      ...(blockHashes !== undefined && { blockHashes }),
      ...(priority !== undefined && { priority }),
      ...(tenant !== undefined && { tenant }),
      row,
    });
  }
  if (requests.length === 0) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: "no request of the trace lies within the window",
      where: path,
      hint: "begin the window earlier or make it longer",
    });
  }
  return requests;
}
