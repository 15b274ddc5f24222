/**
 * Requests as people have recorded them: a body by itself, a body under one of the usual names (`body`, `request`, `params`,
 * …, as a value or as JSON text), the entries of a HAR file, and lists of these. What else a record says, of times, usage and
 * its conversation, is taken along where it is found.
 */
import type { JsonPath } from "./json-place.ts";

type Json = Readonly<Record<string, unknown>>;

export interface RecordedUsage {
  /** With what came from the cache. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

export interface RecordedRequest {
  readonly body: Json;
  /** Where the body stands in the record. */
  readonly path: JsonPath;
  /** The JSON text there, if the record holds the body as one. */
  readonly text: string | null;
  /** Conversation by the caller's own word. */
  readonly conversation: string | null;
  readonly usage: RecordedUsage | null;
  /** To the first token, by the record. */
  readonly ttftUs: number | null;
  /** Time of day, milliseconds since 1970. */
  readonly wallMs: number | null;
}

/** Names under which bodies stand, here and one level further in. */
const BODY_NAMES = ["body", "request", "params", "requestBody", "request_body", "json", "kwargs"];
const CONVERSATION_NAMES = [
  "conversation",
  "conversation_id",
  "conversationId",
  "session_id",
  "sessionId",
  "thread_id",
];
const DEPTH_MAX = 4;

/** @returns none if the value holds no request. */
export function recordedRequests(value: unknown): RecordedRequest[] {
  return found(value, [], {}, 0);
}

function found(value: unknown, path: JsonPath, around: Json, depth: number): RecordedRequest[] {
  if (depth > DEPTH_MAX) return [];
  if (Array.isArray(value)) {
    return value.flatMap((one, i) => found(one, [...path, i], around, depth + 1));
  }
  if (!isObject(value)) return [];
  if (isHar(value)) return harRequests(value, path);
  // The innermost word counts, but the outer record has the answer.
  const record: Json = value;
  if (isBody(record)) return [recorded(record, path, null, around)];
  for (const name of BODY_NAMES) {
    const inner = record[name];
    if (typeof inner === "string") {
      const body = parsed(inner);
      if (isObject(body) && isBody(body))
        return [recorded(body, [...path, name], inner, { ...around, ...record })];
    } else if (isObject(inner)) {
      const all = found(inner, [...path, name], { ...around, ...record }, depth + 1);
      if (all.length > 0) return all;
    }
  }
  return [];
}

function isBody(value: Json): boolean {
  const said = value.messages ?? value.input;
  return Array.isArray(said) || (typeof value.model === "string" && typeof said === "string");
}

function isHar(value: Json): boolean {
  return isObject(value.log) && Array.isArray(value.log.entries);
}

function harRequests({ log }: Json, path: JsonPath): RecordedRequest[] {
  const entries = (log as { entries: unknown[] }).entries;
  return entries.flatMap((entry, i) => {
    const { request, response, startedDateTime, timings } = asJson(entry);
    const { text } = asJson(asJson(request).postData);
    const body = typeof text === "string" ? parsed(text) : undefined;
    if (!isObject(body) || !isBody(body)) return [];
    const answer = asJson(asJson(response).content).text;
    const around = {
      timestamp: startedDateTime,
      response: typeof answer === "string" ? parsed(answer) : undefined,
      // `wait` ends with the first byte of the answer.
      ttft_ms: asJson(timings).wait,
    };
    const at = [...path, "log", "entries", i, "request", "postData", "text"];
    return [recorded(body, at, text as string, around)];
  });
}

function recorded(body: Json, path: JsonPath, text: string | null, around: Json): RecordedRequest {
  return {
    body,
    path,
    text,
    conversation: conversationOf(body, around),
    usage: usageOf(around),
    ttftUs: ttftOf(around),
    wallMs: wallOf(around),
  };
}

function conversationOf(body: Json, around: Json): string | null {
  for (const holder of [around, asJson(around.metadata), asJson(body.metadata)]) {
    for (const name of CONVERSATION_NAMES) {
      if (typeof holder[name] === "string") return holder[name];
    }
  }
  return null;
}

function usageOf(around: Json): RecordedUsage | null {
  const usage = asJson(around.usage ?? asJson(around.response).usage ?? nestedUsage(around));
  const input = numberOf(usage.prompt_tokens ?? usage.input_tokens);
  if (input === null) return null;
  const read = numberOf(usage.cache_read_input_tokens);
  if (read !== null || usage.cache_creation_input_tokens !== undefined) {
    // Anthropic's input has neither what was read nor what was written.
    const written = numberOf(usage.cache_creation_input_tokens) ?? 0;
    return { promptTokens: input + (read ?? 0) + written, cachedTokens: read ?? 0 };
  }
  const details = asJson(usage.prompt_tokens_details ?? usage.input_tokens_details);
  return { promptTokens: input, cachedTokens: numberOf(details.cached_tokens) ?? 0 };
}

function nestedUsage(around: Json): unknown {
  return asJson(asJson(around.response).body).usage;
}

function ttftOf(around: Json): number | null {
  const us = numberOf(around.ttftUs ?? around.ttft_us);
  if (us !== null) return Math.round(us);
  const ms = numberOf(around.ttftMs ?? around.ttft_ms);
  return ms === null || ms <= 0 ? null : Math.round(ms * 1_000);
}

function wallOf(around: Json): number | null {
  const time = around.timestamp ?? around.time ?? around.ts ?? around.created_at ?? around.at;
  if (typeof time === "string") {
    const ms = Date.parse(time);
    return Number.isNaN(ms) ? null : ms;
  }
  const value = numberOf(time);
  // Seconds, as most APIs have it, are below what milliseconds were in 1973.
  return value === null ? null : value < 1e11 ? value * 1_000 : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function asJson(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
