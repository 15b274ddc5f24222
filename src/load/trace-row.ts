/**
 * What one line of a trace says, before it has a place in a run, and the checks that every format shares. A line that
 * cannot be understood is a problem with its reason and not an exception: the reader sets it aside and counts it.
 */

/** An instant exact to the nanosecond: a double cannot hold 100 ns of Unix time. */
export interface TraceInstant {
  readonly second: number;
  /** 0 to 999,999,999. */
  readonly nano: number;
}

/** Columns that no public trace has and any may: who asks, and how urgently. */
export interface TraceCaller {
  readonly priority?: number;
  readonly tenant?: string;
}

export interface TraceRow extends TraceCaller {
  readonly instant: TraceInstant;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly blockHashes?: readonly number[];
}

export interface RowProblem {
  /** Names the column or field. */
  readonly expected: string;
  readonly got: string;
}

/** One format: what it makes of a line after the header. */
export interface RowParser {
  readonly format: "azure-llm" | "mooncake";
  parse(line: string): TraceRow | RowProblem;
}

export function isProblem(row: object): row is RowProblem {
  return "expected" in row;
}

/** A hundred times the longest context on sale; beyond it the column holds something else. */
const TOKENS_MAX = 100_000_000;

export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= TOKENS_MAX;
}

const PRIORITY_MAX = 1_000_000;
const TENANT_CHARS_MAX = 128;

/** @param priority a number, @param tenant a text; undefined where the row has none. */
export function callerOf(priority: unknown, tenant: unknown): TraceCaller | RowProblem {
  if (priority !== undefined && !isPriority(priority)) {
    return {
      expected: `priority, a whole number from -${PRIORITY_MAX} to ${PRIORITY_MAX}`,
      got: excerpt(priority),
    };
  }
  if (tenant !== undefined && !(typeof tenant === "string" && tenant.length <= TENANT_CHARS_MAX)) {
    return { expected: `tenant, at most ${TENANT_CHARS_MAX} characters`, got: excerpt(tenant) };
  }
  return { ...(priority !== undefined && { priority }), ...(tenant !== undefined && { tenant }) };
}

function isPriority(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= PRIORITY_MAX;
}

export function lengthProblem(name: string, value: unknown): RowProblem {
  return { expected: `${name} from 1 to ${TOKENS_MAX}`, got: excerpt(value) };
}

/** Text of a bad value, short enough for one line of an error. */
export function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
