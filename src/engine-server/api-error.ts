/**
 * Errors as OpenAI's API has them. Clients act on some of its codes (an agent shortens its prompt on
 * `context_length_exceeded`), so those stand in `code`; Manx's own stable code is always beside them in `manx_code`.
 */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { type ErrorCode, errorBody, type ManxError } from "../core/index.ts";
import { sendJson } from "../http/index.ts";

const OPENAI_CODES: Readonly<Partial<Record<ErrorCode, string>>> = {
  MANX_MODEL_UNKNOWN: "model_not_found",
  MANX_REQUEST_NEVER_FITS: "context_length_exceeded",
  MANX_OVERLOADED: "rate_limit_exceeded",
};

/** Seconds after which a refused client may try again. A queue that is full drains within a few steps or not at all. */
const RETRY_AFTER_S = 1;

export function apiErrorBody(error: ManxError): Record<string, unknown> {
  const { error: parts } = errorBody(error, "openai") as { error: Record<string, unknown> };
  const code = OPENAI_CODES[error.code] ?? error.code;
  return { error: { ...parts, code, manx_code: error.code } };
}

export function sendApiError(response: ServerResponse, error: ManxError): void {
  const headers: OutgoingHttpHeaders =
    error.status === 429 || error.status === 503 ? { "retry-after": String(RETRY_AFTER_S) } : {};
  sendJson(response, error.status, apiErrorBody(error), headers);
}
