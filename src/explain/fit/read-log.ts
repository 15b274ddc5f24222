/**
 * Reads a log of requests: the JSON of `vllm bench serve --save-detailed`, a JSON object a line, or a CSV with a header.
 * A row that cannot be true is set aside, counted and named; above one in twenty the log is refused, since the load that
 * the twin replays would no longer be the server's.
 */
import { ManxError } from "../../core/index.ts";
import { findColumns, type LogColumns } from "./log-columns.ts";
import { isProblem, type RawRequest, type RowResult, readRow } from "./log-row.ts";
import type { LogFormat, LoggedRequest, LogProblem, RequestLog } from "./request-log.ts";

const ROWS_MAX = 1_000_000;
const SET_ASIDE_SHARE_MAX = 0.05;
const PROBLEMS_SHOWN = 5;

/**
 * @param text of the whole file; `path` for errors only.
 * @throws MANX_TABLE_FORMAT (empty, no known format, a missing column), MANX_TRACE_ROWS (above 5 % of the rows
 * impossible), MANX_RESULT_FORMAT (a result document, which has no requests).
 */
export function readRequestLog(text: string, path: string): RequestLog {
  const body = text.replace(/^\ufeff/, "").trim();
  if (body === "")
    throw new ManxError("MANX_TABLE_FORMAT", { what: "a log is empty", where: path });
  const rows = rowsOf(body, path);
  const intake = new Intake(path);
  for (const { row, result } of rows.rows) intake.add(row, result);
  return intake.finish(rows.format);
}

interface Rows {
  readonly format: LogFormat;
  readonly rows: Iterable<{ readonly row: number; readonly result: RowResult }>;
}

function rowsOf(body: string, path: string): Rows {
  if (!/^[[{]/.test(body)) return csvRows(body, path);
  const whole = parsed(body);
  if (isObject(whole)) {
    if (Array.isArray(whole.input_lens)) return vllmRows(whole, path);
    if (typeof whole.schemaVersion === "number") refuseDocument(path);
    return objectRows([{ row: 1, value: whole }], path);
  }
  if (Array.isArray(whole)) {
    return objectRows(
      whole.map((value, i) => ({ row: i + 1, value: value as unknown })),
      path,
    );
  }
  const lines = body.split("\n").flatMap((line, i) => {
    return line.trim() === "" ? [] : [{ row: i + 1, value: parsed(line) }];
  });
  return objectRows(lines, path);
}

function refuseDocument(path: string): never {
  throw new ManxError("MANX_RESULT_FORMAT", {
    what: "a result document has distributions and no requests",
    where: path,
    hint: "give a log with a row for each request: vLLM's --save-detailed JSON, JSONL or CSV",
  });
}

/** Python writes NaN and Infinity where JSON has no word; as null they are told apart from a broken line. */
const PYTHON_NUMBERS = /([:,[]\s*)(?:NaN|-?Infinity)(?=\s*[,\]}])/g;

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  for (const candidate of [() => text, () => text.replace(PYTHON_NUMBERS, "$1null")]) {
    try {
      return JSON.parse(candidate()) as unknown;
    } catch {
      // The next one may do.
    }
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectRows(values: readonly { row: number; value: unknown }[], path: string): Rows {
  const first = values.find(({ value }) => isObject(value))?.value as object | undefined;
  if (first === undefined) {
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "a log is in no known format",
      where: path,
      expected: "vLLM's --save-detailed JSON, a JSON object a line, or CSV with a header",
    });
  }
  const columns = findColumns(Object.keys(first), path);
  const read = (value: unknown): RowResult =>
    isObject(value)
      ? readRow(columns, (name) => value[name])
      : { expected: "a JSON object", got: "something else" };
  return { format: "jsonl", rows: values.map(({ row, value }) => ({ row, result: read(value) })) };
}

/** No cell of a log has a comma but a list of gaps, which is in quotes. */
function splitCsv(line: string): string[] {
  const cells = line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? [];
  if (!line.endsWith(",")) cells.pop();
  return cells.map((cell) => {
    const bare = cell.replace(/,$/, "").trim();
    return bare.startsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : bare;
  });
}

function csvRows(body: string, path: string): Rows {
  const [header = "", ...lines] = body.split("\n").map((line) => line.replace(/\r$/, ""));
  const names = splitCsv(header);
  const columns = findColumns(names, `${path}:1`);
  const places = new Map(names.map((name, place) => [name, place]));
  const read = (line: string): RowResult => {
    const cells = splitCsv(line);
    return cells.length === names.length
      ? readRow(columns, (name) => cells[places.get(name)!])
      : { expected: `${names.length} columns`, got: `${cells.length}` };
  };
  const rows = lines.flatMap((line, i) => {
    return line.trim() === "" ? [] : [{ row: i + 2, result: read(line) }];
  });
  return { format: "csv", rows };
}

/** The arrays that `vllm bench serve` and its like write side by side. All durations are seconds. */
const VLLM_COLUMNS: LogColumns = {
  arrival: { name: "start_times", unitUs: 1e6 },
  promptTokens: { name: "input_lens", unitUs: 1 },
  outputTokens: { name: "output_lens", unitUs: 1 },
  ttft: { name: "ttfts", unitUs: 1e6 },
  gaps: { name: "itls", unitUs: 1e6 },
  error: { name: "errors", unitUs: 1 },
};

function vllmRows(whole: Record<string, unknown>, path: string): Rows {
  const count = (whole.input_lens as readonly unknown[]).length;
  // All at once needs no start times: a rate without end and no cap on how many are open.
  const isBurst = whole.request_rate === "inf" && (whole.max_concurrency ?? null) === null;
  for (const { name } of [VLLM_COLUMNS.arrival!, VLLM_COLUMNS.ttft!, VLLM_COLUMNS.gaps!]) {
    const list = whole[name];
    if (name === "start_times" && list === undefined && isBurst) continue;
    if (Array.isArray(list) && list.length === count) continue;
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: `a vLLM result has no ${name}`,
      where: path,
      expected: `${name} with ${count} entries, one a request`,
      got: Array.isArray(list) ? String(list.length) : Object.keys(whole).slice(0, 20).join(", "),
      hint:
        name === "start_times"
          ? "take a version of vllm bench serve that writes start_times, or --request-rate inf"
          : "run vllm bench serve with --save-result --save-detailed",
    });
  }
  const cell = (name: string, i: number): unknown => {
    const list = whole[name];
    return name === "start_times" && list === undefined ? 0 : (list as unknown[] | undefined)?.[i];
  };
  const rows = Array.from({ length: count }, (_, i) => ({
    row: i + 1,
    result: readRow(VLLM_COLUMNS, (name) => cell(name, i)),
  }));
  return { format: "vllm-bench", rows };
}

class Intake {
  readonly #path: string;
  readonly #rows: { row: number; raw: RawRequest }[] = [];
  readonly #problems: LogProblem[] = [];
  #setAside = 0;
  #failed = 0;

  constructor(path: string) {
    this.#path = path;
  }

  add(row: number, result: RowResult): void {
    if (result === "failed") {
      this.#failed += 1;
    } else if (isProblem(result)) {
      this.#setAside += 1;
      if (this.#problems.length < PROBLEMS_SHOWN) this.#problems.push({ row, ...result });
    } else {
      this.#rows.push({ row, raw: result });
    }
    if (this.#rows.length <= ROWS_MAX) return;
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "a log has more requests than a fit can use",
      where: this.#path,
      expected: `at most ${ROWS_MAX}`,
    });
  }

  finish(format: LogFormat): RequestLog {
    const rows = this.#rows.length + this.#setAside + this.#failed;
    if (this.#setAside > rows * SET_ASIDE_SHARE_MAX) this.#refuse(rows);
    if (this.#rows.length === 0) {
      throw new ManxError("MANX_TABLE_FORMAT", {
        what: "a log has no request that ended well",
        where: this.#path,
        got: `${rows} rows, ${this.#failed} of them failed`,
      });
    }
    let reordered = 0;
    for (let i = 1; i < this.#rows.length; i += 1) {
      if (this.#rows[i]!.raw.arrivalUs < this.#rows[i - 1]!.raw.arrivalUs) reordered += 1;
    }
    const requests = placed(this.#rows, this.#path);
    return {
      format,
      path: this.#path,
      requests,
      rows,
      setAside: this.#setAside,
      problems: this.#problems,
      failed: this.#failed,
      reordered,
    };
  }

  #refuse(rows: number): never {
    const named = this.#problems.map(
      ({ row, expected, got }) => `row ${row}: expected ${expected}, got ${got}`,
    );
    throw new ManxError("MANX_TRACE_ROWS", {
      what: "too many impossible rows in a log",
      where: `${this.#path}:${this.#problems[0]!.row}`,
      expected: `at most ${SET_ASIDE_SHARE_MAX * 100} % of them`,
      got: `${this.#setAside} of ${rows}; ${named.join("; ")}`,
      hint: "mend the rows named above",
      details: { setAside: this.#setAside, rows, problems: this.#problems },
    });
  }
}

/**
 * From the log's own clock to times since the first arrival. Arrivals may be stamped by a wall clock and tokens by a
 * monotonic one: then the smallest distance from a request's arrival to its being queued is taken as theirs.
 */
function placed(
  rows: readonly { row: number; raw: RawRequest }[],
  path: string,
): readonly LoggedRequest[] {
  const firstUs = rows.reduce((least, { raw }) => Math.min(least, raw.arrivalUs), Infinity);
  const apartUs = rows.reduce((least, { raw }) => {
    return raw.queuedUs === undefined ? least : Math.min(least, raw.queuedUs - raw.arrivalUs);
  }, Infinity);
  // Within an hour it is one clock, and the distance is the wait in front of the engine.
  const offsetUs = Math.abs(apartUs) > 3_600e6 && Number.isFinite(apartUs) ? apartUs : 0;
  const requests = rows.map(({ row, raw }) => {
    const sinceUs = raw.isInstant ? raw.arrivalUs + offsetUs : 0;
    const ttftUs = Math.round(raw.firstUs - sinceUs);
    return {
      row,
      atUs: Math.round(raw.arrivalUs - firstUs),
      promptTokens: raw.promptTokens,
      outputTokens: raw.outputTokens,
      ttftUs,
      e2eUs: Math.max(ttftUs, Math.round(raw.lastUs - sinceUs)),
      ...(raw.gapsUs !== undefined && { gapsUs: raw.gapsUs }),
    };
  });
  const impossible = requests.find(({ ttftUs }) => ttftUs <= 0);
  if (impossible !== undefined) {
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "a request has its first token before it arrives",
      where: `${path}:${impossible.row}`,
      hint: "arrivals and tokens must be of one clock, or the log needs a column queued_s",
    });
  }
  // Stable: requests of one instant keep the file's order.
  return requests.sort((a, b) => a.atUs - b.atUs);
}
