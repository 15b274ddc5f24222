/** How a client is told within an event stream that its call has failed, in the words of its API. */
import type { ErrorDialect } from "../../core/index.ts";
import type { DecodableFormat } from "../stream-decoder.ts";
import type { UpstreamError } from "../stream-event.ts";
import { nextSequenceNumber } from "./sequence-number.ts";

type Body = Readonly<Record<string, unknown>>;

/** What the upstream said in an answer that had begun with 200, in its own words. */
export function upstreamErrorBody(
  { errorType: type, message }: UpstreamError,
  dialect: ErrorDialect,
): Body {
  return dialect === "anthropic"
    ? { type: "error", error: { type, message } }
    : { error: { message, type, param: null, code: type } };
}

/**
 * Chat clients know an error by its `error` field, Anthropic's by the event's name, those of the responses API by name, type
 * or field. The empty lines before it end a line and an event that may be open.
 *
 * @param body of the error as a whole answer, which has its parts under `error`.
 * @param format of the stream; null if no decoder knows it.
 * @param said the last bytes that the caller has got: events of the responses API are numbered.
 */
export function errorFrame(
  body: Body,
  dialect: ErrorDialect,
  format: DecodableFormat | null,
  said?: Uint8Array,
): string {
  const isNamed = dialect === "anthropic" || format === "openai-responses";
  const name = isNamed ? "event: error\n" : "";
  const data = format === "openai-responses" ? responsesError(body, said) : body;
  return `\n\n${name}data: ${JSON.stringify(data)}\n\n`;
}

/** The API's own error event, which has its fields on top, with the usual one beside them. */
function responsesError(body: Body, said: Uint8Array | undefined): object {
  const { code, message } = body.error as { code: unknown; message: unknown };
  const number = said && nextSequenceNumber(said);
  const numbered = number === undefined ? {} : { sequence_number: number };
  return { type: "error", ...numbered, code, message, param: null, ...body };
}
