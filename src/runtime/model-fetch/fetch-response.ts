/**
 * How the caller is told: an answer as a `Response` like the upstream's, a failure as one as well, in the words of the API.
 * A rejected `fetch` would be tried again by every SDK; of a response it can be said that this is not to be
 * (`x-should-retry: false`, which the official ones obey), once it was done here.
 */
import { errorBody, type ManxError } from "../../core/index.ts";
import { type CallFailure, refusalHeaders } from "../../policy/index.ts";
import {
  errorFrame,
  joinedBytes,
  type UpstreamError,
  upstreamErrorBody,
} from "../../stream/index.ts";
import type { Answer } from "./answer.ts";
import type { AnswerBody } from "./answer-body.ts";
import type { ModelWire } from "./model-wire.ts";

/** Of a failure, its code in Manx's table. */
const ERROR_HEADER = "x-manx-error";
/** The specification lets no body go with them. */
const BODILESS: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
const STATUS_UNKNOWN = 502;
const encoder = new TextEncoder();

/** What the caller gets of an answer that is delivered. */
export function answerResponse({ response }: Answer, body: AnswerBody): Response {
  const { status, statusText, headers, url } = response!;
  const made = new Response(BODILESS.has(status) ? null : body.stream, {
    status,
    statusText,
    headers,
  });
  // SDKs show it in their errors; a made response has none.
  Object.defineProperty(made, "url", { value: url });
  return made;
}

export interface FailureParts {
  readonly failure: CallFailure;
  /** The one error that it ends with. */
  readonly error: ManxError;
  readonly inBand: UpstreamError | undefined;
  /** A refusal that is here whole. */
  readonly refused: Answer | undefined;
  readonly wire: ModelWire;
  /** Attempts that were made here; 0 where others make them. */
  readonly retriedHere: number;
}

/** What the caller gets of a call that has failed before anything of it was delivered. */
export function failureResponse(parts: FailureParts): Response {
  const { failure, error, inBand, refused, wire, retriedHere } = parts;
  const said = refusalHeaders(failure, retriedHere);
  if (failure.kind === "status" && refused !== undefined) {
    const held = refused.takeHeld();
    const bytes = joinedBytes(
      held,
      held.reduce((sum, { length }) => sum + length, 0),
    );
    const { status, statusText, headers } = refused.response!;
    const made = new Headers(headers);
    made.delete("content-length");
    setAll(made, said);
    return new Response(bytes as Uint8Array<ArrayBuffer>, { status, statusText, headers: made });
  }
  const headers = new Headers({ "content-type": "application/json", [ERROR_HEADER]: error.code });
  setAll(headers, said);
  const isInBand = failure.kind === "stream_error" && inBand !== undefined;
  const body = isInBand ? upstreamErrorBody(inBand, wire.dialect) : errorBody(error, wire.dialect);
  const status = isInBand ? (inBand.status ?? STATUS_UNKNOWN) : error.status;
  return new Response(JSON.stringify(body), { status, headers });
}

/** The event that tells, within a stream, that it has broken off. @param said the last that the caller has got. */
export function failureFrame(
  error: ManxError,
  { dialect, format }: ModelWire,
  said: Uint8Array | undefined,
): Uint8Array {
  return encoder.encode(errorFrame(errorBody(error, dialect), dialect, format, said));
}

function setAll(headers: Headers, list: readonly string[]): void {
  for (let at = 0; at < list.length; at += 2) headers.set(list[at]!, list[at + 1]!);
}
