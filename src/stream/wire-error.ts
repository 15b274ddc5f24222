/** Errors that arrive as data inside a response whose HTTP status was 200. */

import { isObject, type JsonObject } from "./json-object.ts";
import type { UpstreamError } from "./stream-event.ts";

/** Keeps a page of HTML in an error from becoming everybody's log line. */
const MESSAGE_CHARS_MAX = 4_096;

/** The status that the same error has as a plain answer: Anthropic's table, and OpenAI's words where they differ. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["invalid_api_key", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["insufficient_quota", 429],
  ["api_error", 500],
  ["server_error", 500],
  ["internal_error", 500],
  ["service_unavailable", 503],
  ["timeout_error", 504],
  ["overloaded_error", 529],
]);

/** @param wire the value of an `error` field: an object, as documented, or a bare text, as some servers send it. */
export function readWireError(wire: unknown): UpstreamError {
  if (!isObject(wire)) {
    return { type: "error", errorType: "unknown", message: shorten(wire), status: null };
  }
  const code = wire.code;
  const errorType = firstText(wire.type, code) ?? "unknown";
  return {
    type: "error",
    errorType,
    message: shorten(wire.message ?? wire),
    status: statusOf(wire) ?? STATUS_OF_TYPE.get(errorType) ?? knownStatus(code) ?? null,
  };
}

function statusOf(wire: JsonObject): number | undefined {
  return [wire.status, wire.status_code, wire.code].map(Number).find(isErrorStatus);
}

function knownStatus(code: unknown): number | undefined {
  return typeof code === "string" ? STATUS_OF_TYPE.get(code) : undefined;
}

function isErrorStatus(value: number): boolean {
  return Number.isInteger(value) && value >= 400 && value <= 599;
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && value !== "");
}

function shorten(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > MESSAGE_CHARS_MAX ? `${text.slice(0, MESSAGE_CHARS_MAX)}…` : text;
}

const MESSAGES_TYPE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

const MESSAGES_TYPES: ReadonlySet<string> = new Set([
  ...MESSAGES_TYPE_OF_STATUS.values(),
  "api_error",
]);

/** @returns Anthropic's word for an error that may have come with another one. */
export function messagesErrorType(errorType: string, status: number | null): string {
  if (MESSAGES_TYPES.has(errorType)) return errorType;
  const code = status ?? STATUS_OF_TYPE.get(errorType) ?? 500;
  const byStatus = MESSAGES_TYPE_OF_STATUS.get(code);
  return byStatus ?? (code < 500 ? "invalid_request_error" : "api_error");
}

/** @returns OpenAI's `code` of a response that failed. */
export function responsesErrorCode(errorType: string, status: number | null): string {
  const code = status ?? STATUS_OF_TYPE.get(errorType) ?? 500;
  if (code === 429) return "rate_limit_exceeded";
  return code >= 500 ? "server_error" : "invalid_prompt";
}
