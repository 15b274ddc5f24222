/** An error in the form that a client library of an API turns into its own typed one. */
import type { ManxError } from "./manx-error.ts";

export type ErrorDialect = "openai" | "anthropic";

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  429: "rate_limit_error",
};

/**
 * The body that a client library of that API turns into its own typed error. `code` is Manx's stable one. (The twin, which
 * stands for a real engine, has OpenAI's own word there and this code in `manx_code`: engine-server/api-error.ts.)
 */
export function errorBody(error: ManxError, dialect: ErrorDialect): Record<string, unknown> {
  const { status } = error;
  const parts = [error.what];
  if (error.expected !== undefined) parts.push(`expected ${error.expected}`);
  if (error.got !== undefined) parts.push(`got ${error.got}`);
  const message = `${parts.join(", ")} (try: ${error.hint})`;
  if (dialect === "anthropic") {
    const type = ANTHROPIC_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
    return { type: "error", error: { type, message, code: error.code } };
  }
  const type = OPENAI_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  return { error: { message, type, param: error.where ?? null, code: error.code } };
}
