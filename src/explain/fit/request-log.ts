/**
 * What a server did, request by request: when each was wanted, how long it was, and when its tokens came. The one form that
 * every log format is read into, and the only thing that a fit knows of the real engine.
 */

export type LogFormat = "vllm-bench" | "jsonl" | "csv";

export interface LoggedRequest {
  /** Line of the file from 1, or place in the arrays of a vLLM result from 1. */
  readonly row: number;
  /** Since the first request of the log. Whole µs, as the durations below. */
  readonly atUs: number;
  /** ≥ 1. */
  readonly promptTokens: number;
  /** ≥ 1. */
  readonly outputTokens: number;
  /** From `atUs`; above 0. */
  readonly ttftUs: number;
  /** From `atUs`; ≥ `ttftUs`. */
  readonly e2eUs: number;
  /** Names of the prompt's pieces, where it is known what prompts have in common; as of the engine's requests. */
  readonly prefixIds?: readonly number[];
  /** Between consecutive tokens, `outputTokens` − 1 of them; undefined where the log has none or has one by chunk. */
  readonly gapsUs?: readonly number[];
}

export interface LogProblem {
  readonly row: number;
  /** Names the column. */
  readonly expected: string;
  readonly got: string;
}

export interface RequestLog {
  readonly format: LogFormat;
  readonly path: string;
  /** In order of `atUs`, from 0. */
  readonly requests: readonly LoggedRequest[];
  /** Requests in the file, those left out included. */
  readonly rows: number;
  /** Rows that cannot be true, and the first few of them. */
  readonly setAside: number;
  readonly problems: readonly LogProblem[];
  /** Requests that the server or the client gave up. They loaded the engine, and the twin does not see them. */
  readonly failed: number;
  /** Rows earlier than the row before them. */
  readonly reordered: number;
}

/** Mean gap between the tokens of one answer; undefined for an answer of one token. */
export function tpotUsOf(request: {
  readonly outputTokens: number;
  readonly ttftUs: number;
  readonly e2eUs: number;
}): number | undefined {
  const { outputTokens, ttftUs, e2eUs } = request;
  return outputTokens < 2 ? undefined : (e2eUs - ttftUs) / (outputTokens - 1);
}
