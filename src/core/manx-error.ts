/**
 * The one error class. It says what is wrong, where, what was expected and got, and what to try, and carries a code
 * from the table. Recognise it with `isManxError`, not `instanceof`: two copies of the package may be loaded.
 */
import { ERROR_TABLE, type ErrorCode, type ErrorKind } from "./error-table.ts";

const BRAND = Symbol.for("manx.error");

const USAGE = 2;

export interface ErrorParts {
  /** One sentence without a full stop, such as `budget has no unit`. Defaults to the table's summary. */
  readonly what?: string;
  /** File and line, flag, header or field. */
  readonly where?: string;
  /** Lines of the source at fault, with a caret under it; shown below `where`. Must never hold a secret. */
  readonly excerpt?: string;
  readonly expected?: string;
  readonly got?: string;
  readonly hint?: string;
  readonly cause?: unknown;
  /** Machine-readable facts; must never hold a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export class ManxError extends Error {
  readonly code: ErrorCode;
  /** The sentence alone. `message` goes on with where, expected and got if it is a mistake in usage. */
  readonly what: string;
  readonly where: string | undefined;
  readonly excerpt: string | undefined;
  readonly expected: string | undefined;
  readonly got: string | undefined;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly [BRAND] = true;

  constructor(code: ErrorCode, parts: ErrorParts = {}) {
    const what = parts.what ?? ERROR_TABLE[code].summary;
    const message = ERROR_TABLE[code].exit === USAGE ? withPlace(what, parts) : what;
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = "ManxError";
    this.code = code;
    this.what = what;
    this.where = parts.where;
    this.excerpt = parts.excerpt;
    this.expected = parts.expected;
    this.got = parts.got;
    this.hint = parts.hint ?? ERROR_TABLE[code].hint;
    this.details = parts.details;
  }

  get kind(): ErrorKind {
    return ERROR_TABLE[this.code];
  }

  get exit(): number {
    return this.kind.exit;
  }

  /** HTTP status that a Manx server answers with; 500 if the table names none. */
  get status(): number {
    return this.kind.status ?? 500;
  }

  /** The form of `--json` and of HTTP error bodies. Has no stack and no cause, which could hold a path or a secret. */
  toJSON(): Record<string, unknown> {
    return {
      code: this.code,
      // Not `what`: vitest shows what is thrown by its JSON, and of that the message alone.
      message: this.message,
      what: this.what,
      ...(this.where !== undefined && { where: this.where }),
      ...(this.excerpt !== undefined && { excerpt: this.excerpt }),
      ...(this.expected !== undefined && { expected: this.expected }),
      ...(this.got !== undefined && { got: this.got }),
      hint: this.hint,
      ...(this.details !== undefined && { details: this.details }),
    };
  }
}

/**
 * A test runner or a log shows the message and nothing else, and "not a duration" says too little there. Only for mistakes in
 * usage, which are the same each time: what others have got may be a time or come from afar.
 */
function withPlace(what: string, { where, expected, got }: ErrorParts): string {
  const parts = [
    ...(where === undefined ? [] : [`at ${where}`]),
    ...(expected === undefined ? [] : [`expected ${expected}`]),
    ...(got === undefined ? [] : [`got ${got}`]),
  ];
  return parts.length === 0 ? what : `${what} (${parts.join(", ")})`;
}

export function isManxError(value: unknown): value is ManxError {
  return (
    typeof value === "object" && value !== null && (value as { [BRAND]?: true })[BRAND] === true
  );
}

/** Wraps what is not yet a `ManxError`, so that every boundary reports in one form. */
export function toManxError(thrown: unknown): ManxError {
  if (isManxError(thrown)) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ManxError("MANX_INTERNAL", { what: message, cause: thrown });
}

/**
 * Four lines for a terminal: what, where, why, try. Lines without content are left out; an excerpt of the file at fault
 * stands below where.
 *
 *     error MANX_DURATION: not a duration
 *       at --slo
 *       expected a duration such as "800ms", got "800"
 *       try: write a number with a unit
 */
export function renderError(error: ManxError): string {
  const lines = [`error ${error.code}: ${error.what}`];
  if (error.where !== undefined) lines.push(`  at ${error.where}`);
  for (const line of error.excerpt?.split("\n") ?? []) lines.push(`    ${line}`);
  const why = [
    error.expected === undefined ? "" : `expected ${error.expected}`,
    error.got === undefined ? "" : `got ${error.got}`,
  ].filter((part) => part !== "");
  if (why.length > 0) lines.push(`  ${why.join(", ")}`);
  lines.push(`  try: ${error.hint}`);
  return lines.join("\n");
}
