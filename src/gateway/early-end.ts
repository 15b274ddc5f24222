/** How a client is told that its call has failed: before the head as a whole answer, within an event stream as an event. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ManxError } from "../core/index.ts";
import { type ErrorDialect, errorBody, sendError } from "../http/index.ts";

/** Seconds after which an overloaded gateway is worth another try. */
const RETRY_AFTER_S = 1;

export function answerError(
  response: ServerResponse,
  error: ManxError,
  dialect: ErrorDialect,
): void {
  const headers: OutgoingHttpHeaders = {};
  if (error.code === "MANX_OVERLOADED") headers["retry-after"] = String(RETRY_AFTER_S);
  // The client's next request should meet another instance.
  if (error.code === "MANX_DRAINING") headers.connection = "close";
  sendError(response, error, dialect, headers);
}

/**
 * Chat clients know an error by its `error` field, Anthropic's by the event's name. The empty lines before it end a line
 * and an event that may be open.
 */
export function errorEvent(error: ManxError, dialect: ErrorDialect): Buffer {
  const name = dialect === "anthropic" ? "event: error\n" : "";
  return Buffer.from(`\n\n${name}data: ${JSON.stringify(errorBody(error, dialect))}\n\n`);
}
