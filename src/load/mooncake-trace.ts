/**
 * Rows of the Mooncake traces (github.com/kvcache-ai/Mooncake, FAST '25): one JSON object a line with `timestamp` in
 * milliseconds from the start, `input_length` and `output_length` in tokens, and `hash_ids`, one id per 512-token block
 * of the prompt; equal ids mean an equal prefix up to there. `priority` and `tenant` are read where a row has them.
 */
import {
  callerOf,
  excerpt,
  isProblem,
  isTokenCount,
  lengthProblem,
  type RowParser,
  type RowProblem,
  type TraceRow,
} from "./trace-row.ts";

/** 2^53 ns, the exact range of the sum below; over a hundred days. */
const TIMESTAMP_MS_MAX = 9_007_199_254;

export const mooncakeParser: RowParser = {
  format: "mooncake",
  parse(line: string): TraceRow | RowProblem {
    const row = parseObject(line);
    if (row === undefined) return { expected: "a JSON object", got: excerpt(line) };
    const { timestamp, input_length: promptTokens, output_length: outputTokens } = row;
    if (typeof timestamp !== "number" || !(timestamp >= 0 && timestamp <= TIMESTAMP_MS_MAX)) {
      return {
        expected: "timestamp in milliseconds from the start, 0 or more",
        got: excerpt(timestamp),
      };
    }
    if (!isTokenCount(promptTokens)) return lengthProblem("input_length", promptTokens);
    if (!isTokenCount(outputTokens)) return lengthProblem("output_length", outputTokens);
    const caller = callerOf(row.priority, row.tenant);
    if (isProblem(caller)) return caller;
    const second = Math.floor(timestamp / 1_000);
    const instant = { second, nano: Math.round((timestamp - second * 1_000) * 1e6) };
    const hashes = row.hash_ids;
    if (hashes === undefined) return { instant, promptTokens, outputTokens, ...caller };
    if (!isHashList(hashes, promptTokens)) {
      return {
        expected: "hash_ids, a list of at most input_length whole numbers from 0",
        got: excerpt(hashes),
      };
    }
    return { instant, promptTokens, outputTokens, ...caller, blockHashes: hashes };
  },
};

function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function isHashList(value: unknown, idsMax: number): value is number[] {
  return (
    Array.isArray(value) &&
    value.length <= idsMax &&
    value.every((id) => Number.isSafeInteger(id) && id >= 0)
  );
}
