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
