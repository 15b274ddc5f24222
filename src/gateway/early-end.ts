/** How a client is told that its call has failed: before the head as a whole answer, within an event stream as an event. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { type ErrorDialect, errorBody, type ManxError } from "../core/index.ts";
import { sendJson } from "../http/index.ts";
import {
  errorFrame,
  type StreamFormat,
  type UpstreamError,
  upstreamErrorBody,
} from "../stream/index.ts";

export interface EarlyEnd {
  readonly status: number;
  /** In the client's dialect. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: OutgoingHttpHeaders;
}

/** Seconds after which an overloaded gateway is worth another try. */
const RETRY_AFTER_S = 1;

/** @param more headers, names and values in turn. */
export function ownEnd(
  error: ManxError,
  dialect: ErrorDialect,
  more: readonly string[] = [],
): EarlyEnd {
  const headers: OutgoingHttpHeaders = {};
  if (error.code === "MANX_OVERLOADED") headers["retry-after"] = String(RETRY_AFTER_S);
  // The client's next request should meet another instance.
  if (error.code === "MANX_DRAINING") headers.connection = "close";
  addTo(headers, more);
  return { status: error.status, body: errorBody(error, dialect), headers };
}

/** An upstream that cannot say which status its error would be is at fault itself. */
const STATUS_UNKNOWN = 502;

/** What the upstream said in an answer that had begun with 200, in its own words. */
export function upstreamEnd(
  error: UpstreamError,
  dialect: ErrorDialect,
  more: readonly string[] = [],
): EarlyEnd {
  const headers: OutgoingHttpHeaders = {};
  addTo(headers, more);
  const body = upstreamErrorBody(error, dialect);
  return { status: error.status ?? STATUS_UNKNOWN, body, headers };
}

function addTo(headers: OutgoingHttpHeaders, more: readonly string[]): void {
  for (let i = 0; i < more.length; i += 2) headers[more[i]!] = more[i + 1];
}

export function answerEnd(response: ServerResponse, { status, body, headers }: EarlyEnd): void {
  sendJson(response, status, body, headers);
}

/**
 * @param format of the stream; null if no decoder knows it.
 * @param said the last bytes that the client has got, where they are known.
 */
export function errorEvent(
  { body }: EarlyEnd,
  dialect: ErrorDialect,
  format: StreamFormat | null,
  said?: Buffer,
): Buffer {
  return Buffer.from(errorFrame(body, dialect, format, said));
}
