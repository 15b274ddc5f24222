/** Whole answers: JSON, and errors in the form that the caller's API has for them. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { type ErrorDialect, errorBody, type ManxError } from "../core/index.ts";

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": body.length,
    ...headers,
  });
  response.end(body);
}

export function sendError(
  response: ServerResponse,
  error: ManxError,
  dialect: ErrorDialect = "openai",
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(response, error.status, errorBody(error, dialect), headers);
}
