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

export interface TraceRow {
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

export function isProblem(row: TraceRow | RowProblem): row is RowProblem {
  return "expected" in row;
}

/** A hundred times the longest context on sale; beyond it the column holds something else. */
const TOKENS_MAX = 100_000_000;

export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= TOKENS_MAX;
}

export function lengthProblem(name: string, value: unknown): RowProblem {
  return { expected: `${name} from 1 to ${TOKENS_MAX}`, got: excerpt(value) };
}

/** Text of a bad value, short enough for one line of an error. */
export function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
