/**
 * A JSON body: one without length and chunks is ended by the end of the connection, and was whole if it parses. And one that
 * came with 200 may still say that the call has failed.
 */
import { readWireError, type UpstreamError } from "../stream/index.ts";
import type { BodyObserver, Ending } from "./observer.ts";

/** A larger answer is forwarded unread. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

export class JsonObserver implements BodyObserver {
  readonly #isUnsized: boolean;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(isUnsized: boolean) {
    this.#isUnsized = isUnsized;
  }

  push(bytes: Buffer): void {
    if (!this.#isUnsized) return;
    this.#bytes += bytes.length;
    if (this.#bytes > KEPT_BYTES_MAX) this.#parts = [];
    else this.#parts.push(bytes);
  }

  end(): Ending {
    // The transport knows better.
    if (!this.#isUnsized) return "unknown";
    if (this.#bytes > KEPT_BYTES_MAX) return "unknown";
    try {
      JSON.parse(Buffer.concat(this.#parts).toString("utf8"));
      return "complete";
    } catch {
      return "incomplete";
    }
  }
}

/** Errors are short; a longer body is an answer. */
const ERROR_BYTES_MAX = 16 * 1024;
const LOOKS_LIKE_ERROR = /^\s*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/;

/** @param parts of a whole body that came with 200. @returns what it says if it is an error, without parsing answers. */
export function errorInJson(parts: readonly Buffer[]): UpstreamError | undefined {
  const first = parts[0];
  if (first === undefined || !LOOKS_LIKE_ERROR.test(first.toString("latin1", 0, 64)))
    return undefined;
  const body = Buffer.concat(parts as Buffer[]);
  return body.length > ERROR_BYTES_MAX ? undefined : readError(body);
}

/** @returns the error of a body in OpenAI's or Anthropic's form, or undefined if it has none. */
function readError(body: Buffer): UpstreamError | undefined {
  try {
    const { error } = JSON.parse(body.toString("utf8")) as { error?: unknown };
    return error === undefined || error === null ? undefined : readWireError(error);
  } catch {
    return undefined;
  }
}
