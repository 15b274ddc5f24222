/**
 * Which column of a log holds what. Names are compared without case and punctuation, and a unit at the end of a name
 * counts: `ttft_ms`, `ttftUs` and `time_to_first_token_seconds` are one thing in three units. A name without a unit is in
 * seconds, as the benchmark clients of vLLM and SGLang write it.
 */
import { ManxError, nearestName } from "../../core/index.ts";

export type LogField =
  | "arrival"
  | "promptTokens"
  | "outputTokens"
  | "ttft"
  | "e2e"
  | "gaps"
  | "queued"
  | "firstToken"
  | "lastToken"
  | "error";

export interface LogColumn {
  readonly name: string;
  /** µs in one of the column's own unit; 1 for counts. */
  readonly unitUs: number;
}

export type LogColumns = Readonly<Partial<Record<LogField, LogColumn>>>;

/** The first name is the one that errors recommend. */
const NAMES: Readonly<Record<LogField, readonly string[]>> = {
  arrival: ["arrival", "arrivaltime", "arrived", "at", "start", "starttime", "sent", "timestamp"],
  promptTokens: [
    "prompttokens",
    "inputtokens",
    "inputtoks",
    "inputlen",
    "inputlength",
    "promptlen",
    "contexttokens",
  ],
  outputTokens: [
    "outputtokens",
    "outputtoks",
    "outputlen",
    "outputlength",
    "completiontokens",
    "generatedtokens",
    "generationtokens",
  ],
  ttft: ["ttft", "timetofirsttoken"],
  e2e: ["e2e", "e2el", "e2elatency", "latency", "requestlatency", "endtoendlatency"],
  gaps: ["itls", "itl", "gaps", "intertokenlatencies"],
  queued: ["queued"],
  firstToken: ["firsttoken", "firsttokentime"],
  lastToken: ["lasttoken", "lasttokentime", "finished", "finishtime", "end", "endtime"],
  error: ["error", "errors"],
};

const RECOMMENDED: Readonly<Record<LogField, string>> = {
  arrival: "arrival_s",
  promptTokens: "prompt_tokens",
  outputTokens: "output_tokens",
  ttft: "ttft_ms",
  e2e: "e2e_ms",
  gaps: "itls_ms",
  queued: "queued_s",
  firstToken: "first_token_s",
  lastToken: "last_token_s",
  error: "error",
};

const SECOND_US = 1e6;
const UNITS_US: Readonly<Record<string, number>> = {
  ns: 1e-3,
  us: 1,
  ms: 1e3,
  s: SECOND_US,
  sec: SECOND_US,
  seconds: SECOND_US,
  ts: SECOND_US,
};

/** `ttftUs` → words `ttft`, `us`; `first_token_ts` → `first`, `token`, `ts`. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

function fieldOf(name: string): { field: LogField; unitUs: number } | undefined {
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  const whole = words.join("");
  const hasUnit = words.length > 1 && Object.hasOwn(UNITS_US, last);
  const bare = hasUnit ? words.slice(0, -1).join("") : whole;
  for (const [field, names] of Object.entries(NAMES) as [LogField, readonly string[]][]) {
    if (names.includes(bare)) return { field, unitUs: hasUnit ? UNITS_US[last]! : SECOND_US };
    if (names.includes(whole)) return { field, unitUs: SECOND_US };
  }
  return undefined;
}

const COUNTS: readonly LogField[] = ["promptTokens", "outputTokens", "error"];

/**
 * @param names of all columns or fields that the log has.
 * @throws MANX_TABLE_FORMAT if something needed is missing, with the nearest name that is there, or is there twice.
 */
export function findColumns(names: readonly string[], where: string): LogColumns {
  const found: Partial<Record<LogField, LogColumn>> = {};
  for (const name of names) {
    const match = fieldOf(name);
    if (match === undefined) continue;
    const { field } = match;
    const before = found[field];
    if (before !== undefined) {
      throw new ManxError("MANX_TABLE_FORMAT", {
        what: `two columns say the same of a request`,
        where,
        expected: `one column for ${RECOMMENDED[field]}`,
        got: `${before.name} and ${name}`,
        hint: "rename or remove one of them",
      });
    }
    found[field] = { name, unitUs: COUNTS.includes(field) ? 1 : match.unitUs };
  }
  refuseWithout(found, names, where);
  return found;
}

function refuseWithout(found: LogColumns, names: readonly string[], where: string): void {
  const needed: readonly (readonly LogField[])[] = [
    ["arrival"],
    ["promptTokens"],
    ["outputTokens"],
    ["ttft", "firstToken"],
    ["e2e", "lastToken", "gaps"],
  ];
  const missing = needed.filter((fields) => fields.every((field) => found[field] === undefined));
  if (missing.length === 0) return;
  const wanted = missing.map((fields) => RECOMMENDED[fields[0]!]);
  const taken = Object.values(found).map(({ name }) => name);
  const free = names.filter((name) => !taken.includes(name));
  const near = nearestName(wanted[0]!, free);
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "a log of requests lacks a column",
    where,
    expected: `the columns ${wanted.join(", ")} beside ${taken.join(", ") || "them"}`,
    got: names.slice(0, 20).join(", ") || "no column",
    hint:
      near === undefined
        ? `add ${wanted.join(", ")}; the end of a name is its unit`
        : `is "${near}" meant as ${wanted[0]}? rename it; the end of a name is its unit`,
  });
}
