/** An access log of this gateway, as what its models' calls take when they are left alone. */
import { ManxError } from "../../core/index.ts";

type Json = Readonly<Record<string, unknown>>;

/** Time to first content of streams' first attempts, µs, by model; where one was given up, what it had taken until then. */
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
    if (of.length < CALLS_MAX) of.push(read.tookUs);
  }
  if (calls.size > 0) return calls;
  throw new ManxError("MANX_TABLE_FORMAT", {
    where,
    expected: "lines of the gateway's access log, with streams that were sent to an upstream",
    got: "none",
    hint: "let the gateway write one: log.access of its configuration",
  });
}

function readLine(line: string): { readonly model: string; readonly tookUs: number } | undefined {
  if (!line.startsWith("{")) return undefined;
  let read: Record<string, unknown>;
  try {
    read = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { model, stream, attempts } = read;
  if (typeof model !== "string" || stream !== true || !Array.isArray(attempts)) return undefined;
  const tookMs = firstAttemptMs(attempts);
  if (tookMs === undefined || !(tookMs >= 0)) return undefined;
  return { model, tookUs: Math.round(tookMs * 1_000) };
}

/**
 * From its request to its first content, as the limit counts: without the wait for a place. One that was given up counts with
 * the time that it had been given: left out, a log written under a time-out would have no call that takes longer.
 */
function firstAttemptMs([first]: readonly unknown[]): number | undefined {
  if (typeof first !== "object" || first === null) return undefined;
  const { sent_ms: sentMs, content_ms: contentMs, ended_ms: endedMs, end } = first as Json;
  if (typeof sentMs !== "number") return undefined;
  if (typeof contentMs === "number") return contentMs - sentMs;
  const wasSlow = typeof end === "string" && end.startsWith("timeout_");
  return wasSlow && typeof endedMs === "number" ? endedMs - sentMs : undefined;
}
