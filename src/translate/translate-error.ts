/**
 * An upstream's error answer in the caller's format: the same cause in the other API's words, so that the caller's client
 * retries what it should and its user reads what happened.
 */
import type { StreamFormat } from "../stream/index.ts";
import {
  isObject,
  type JsonObject,
  messagesErrorType,
  readWireError,
  textOf,
} from "../stream/wire-words.ts";

export interface TranslatedError {
  readonly status: number;
  readonly body: object;
}

/** Clients look for these to shorten the conversation and try again. */
const TOO_LONG_CODE = "context_length_exceeded";
const TOO_LONG_TEXT = "prompt is too long";

const OPENAI_TYPE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "insufficient_quota"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [429, "rate_limit_error"],
]);

const OPENAI_CODE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [401, "invalid_api_key"],
  [402, "insufficient_quota"],
  [404, "model_not_found"],
  [429, "rate_limit_exceeded"],
]);

/**
 * @param status of the upstream's answer, ≥ 400.
 * @param body parsed JSON, or undefined if it is none.
 */
export function translateError(
  status: number,
  body: unknown,
  from: StreamFormat,
  to: StreamFormat,
): TranslatedError {
  const wire = errorIn(body);
  const { errorType, message: said } = readWireError(wire ?? { message: "" });
  const message = said || `the upstream answered ${status} without a message`;
  const fields = isObject(wire) ? wire : {};
  const isTooLong = fields.code === TOO_LONG_CODE || message.startsWith(TOO_LONG_TEXT);
  if (to === "anthropic-messages") {
    return anthropicError(status, { errorType, message, isTooLong, from });
  }
  return openAiError(status, { message, isTooLong, fields, from });
}

interface Cause {
  readonly message: string;
  readonly isTooLong: boolean;
  readonly from: StreamFormat;
}

function anthropicError(
  status: number,
  { errorType, message, isTooLong, from }: Cause & { readonly errorType: string },
): TranslatedError {
  // OpenAI's words for a type mean other things here, so that the status decides.
  const type = messagesErrorType(from === "anthropic-messages" ? errorType : "", status);
  const text =
    isTooLong && !message.startsWith(TOO_LONG_TEXT) ? `${TOO_LONG_TEXT}: ${message}` : message;
  const overloaded = status === 503 ? 529 : status;
  return { status: overloaded, body: { type: "error", error: { type, message: text } } };
}

function openAiError(
  status: number,
  { message, isTooLong, fields, from }: Cause & { readonly fields: JsonObject },
): TranslatedError {
  // 529 is Anthropic's own number.
  const known = status === 529 ? 503 : status;
  const isOwn = from !== "anthropic-messages";
  const byStatus =
    OPENAI_TYPE_OF_STATUS.get(known) ?? (known < 500 ? "invalid_request_error" : "server_error");
  const code = isTooLong ? TOO_LONG_CODE : (OPENAI_CODE_OF_STATUS.get(known) ?? null);
  const type = (isOwn && textOf(fields.type)) || byStatus;
  const param = isOwn ? (fields.param ?? null) : null;
  const ownCode = isOwn ? (fields.code ?? code) : code;
  return { status: known, body: { error: { message, type, param, code: ownCode } } };
}

/** Where servers put it: `error`, the body itself, or FastAPI's `detail`. */
function errorIn(body: unknown): unknown {
  if (!isObject(body)) return typeof body === "string" && body !== "" ? body : undefined;
  if (body.error !== undefined && body.error !== null) return body.error;
  return body.message === undefined && body.detail !== undefined ? { message: body.detail } : body;
}
