/**
 * What a model gets to read of a call: text that depends on what happened and on nothing else, neither on times nor on the
 * order in which others finished, so that the next request is the same bytes whenever the same things happen.
 */
import { nearestName } from "../core/index.ts";
import { canonicalJson } from "./canonical-json.ts";

export type ResultStatus =
  | "ok"
  /** The tool threw. */
  | "failed"
  | "timeout"
  /** The arguments are no JSON, or do not fit. */
  | "invalid"
  /** By `admit`. */
  | "blocked"
  /** The message was not whole, or the turn has ended. */
  | "cancelled"
  /** A call that it needs failed. */
  | "skipped"
  /** There is no such tool. */
  | "unknown";

export interface ResultText {
  readonly status: ResultStatus;
  readonly text: string;
  /** UTF-16 units of the result that were left out. */
  readonly charsCut: number;
}

const ERROR_CHARS_MAX = 4_096;

export interface TextLimits {
  readonly resultCharsMax: number;
  readonly whenTooLarge: "truncate" | "error";
}

/** A text goes as it is, everything else as canonical JSON. */
export function valueText(value: unknown, limits: TextLimits): ResultText {
  let whole: string | undefined;
  try {
    whole = typeof value === "string" ? value : canonicalJson(value);
  } catch {
    return errorText("failed", "the result cannot be written as JSON");
  }
  const text = whole ?? "(no result)";
  const max = limits.resultCharsMax;
  if (text.length <= max) return { status: "ok", text, charsCut: 0 };
  if (limits.whenTooLarge === "error") {
    const detail = `the result has ${text.length} characters, at most ${max} are allowed`;
    return errorText("failed", detail);
  }
  const shown = wholeCharacters(text, max);
  const charsCut = text.length - shown.length;
  return { status: "ok", text: `${shown}\n[${charsCut} more characters cut off]`, charsCut };
}

export function errorText(status: Exclude<ResultStatus, "ok">, detail: string): ResultText {
  const shown = wholeCharacters(detail, ERROR_CHARS_MAX);
  return { status, text: `error: ${shown}`, charsCut: detail.length - shown.length };
}

/** The message only: a stack holds paths, and differs from machine to machine. */
export function thrownText(error: unknown): ResultText {
  let message = "";
  try {
    if (typeof error === "string") message = error;
    else if (error instanceof Error) message = error.message || nameOf(error);
  } catch {
    // An error whose message cannot be read has none.
  }
  return errorText("failed", message.trim() === "" ? "the tool failed without a message" : message);
}

/** "Error" alone says nothing. */
function nameOf({ name }: Error): string {
  return name === "Error" ? "" : name;
}

function wholeCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

export function badArguments(problem: string): ResultText {
  return errorText("invalid", `the arguments do not fit: ${problem}`);
}

export function unknownTool(name: string, names: readonly string[]): ResultText {
  const near = nearestName(name, names);
  const hint = near === undefined ? "" : `; did the call mean "${near}"?`;
  return errorText("unknown", `there is no tool "${name}"${hint}`);
}
