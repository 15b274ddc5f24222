/** How a client is told that its call has failed: before the head as a whole answer, within an event stream as an event. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ManxError } from "../core/index.ts";
import { type ErrorDialect, errorBody, sendJson } from "../http/index.ts";
import type { StreamFormat, UpstreamError } from "../stream/index.ts";

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
  { errorType: type, message, status }: UpstreamError,
  dialect: ErrorDialect,
  more: readonly string[] = [],
): EarlyEnd {
  const headers: OutgoingHttpHeaders = {};
  addTo(headers, more);
  const body =
    dialect === "anthropic"
      ? { type: "error", error: { type, message } }
      : { error: { message, type, param: null, code: type } };
  return { status: status ?? STATUS_UNKNOWN, body, headers };
}

function addTo(headers: OutgoingHttpHeaders, more: readonly string[]): void {
  for (let i = 0; i < more.length; i += 2) headers[more[i]!] = more[i + 1];
}

export function answerEnd(response: ServerResponse, { status, body, headers }: EarlyEnd): void {
  sendJson(response, status, body, headers);
}

/**
 * Chat clients know an error by its `error` field, Anthropic's by the event's name, those of the responses API by name, type
 * or field. The empty lines before it end a line and an event that may be open.
 * @param format of the stream; null if no decoder knows it.
 */
export function errorEvent(
  { body }: EarlyEnd,
  dialect: ErrorDialect,
  format: StreamFormat | null,
): Buffer {
  const isNamed = dialect === "anthropic" || format === "openai-responses";
  const name = isNamed ? "event: error\n" : "";
  const data = format === "openai-responses" ? responsesError(body) : body;
  return Buffer.from(`\n\n${name}data: ${JSON.stringify(data)}\n\n`);
}

/** The API's own error event, which has its fields on top, with the usual one beside them. */
function responsesError(body: EarlyEnd["body"]): object {
  const { code, message } = body.error as { code: unknown; message: unknown };
  return { type: "error", code, message, param: null, ...body };
}
