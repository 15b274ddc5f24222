/** An access log of this gateway, as what its models' calls took when they were left alone. */
import { ManxError } from "../../core/index.ts";

/** Time to first content of streams that needed one attempt, µs, by model. */
export type ObservedCalls = ReadonlyMap<string, readonly number[]>;

/** Per model; more say no more. */
const CALLS_MAX = 200_000;

/**
 * @param text a line of JSON a call; other lines are left out.
 * @param where in errors.
 * @throws MANX_TABLE_FORMAT if no line tells of a stream.
 */
export function readObservedCalls(text: string, where: string): ObservedCalls {
  const calls = new Map<string, number[]>();
  for (const line of text.split("\n")) {
    const read = readLine(line);
    if (read === undefined) continue;
    const of = calls.get(read.model) ?? [];
    calls.set(read.model, of);
    if (of.length < CALLS_MAX) of.push(Math.round(read.ttftMs * 1_000));
  }
  if (calls.size > 0) return calls;
  throw new ManxError("MANX_TABLE_FORMAT", {
    where,
    expected: 'lines of the gateway\'s access log with "model", "stream" and "ttft_ms"',
    got: "none",
  });
}

function readLine(line: string): { readonly model: string; readonly ttftMs: number } | undefined {
  if (!line.startsWith("{")) return undefined;
  let read: Record<string, unknown>;
  try {
    read = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { model, stream, ttft_ms: ttftMs, attempts } = read;
  const isAlone = Array.isArray(attempts) && attempts.length === 1;
  if (typeof model !== "string" || typeof ttftMs !== "number" || stream !== true || !isAlone) {
    return undefined;
  }
  return ttftMs >= 0 ? { model, ttftMs } : undefined;
}
