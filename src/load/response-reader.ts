/**
 * What one response turned out to be. A reader takes the bytes as they are read from the socket, each read with its own
 * time, and in the end says how it ended; it knows nothing of sockets.
 */
import type { FailureClass, StreamTimes } from "./target.ts";

export interface ResponseReader {
  onBytes(bytes: Uint8Array, atUs: number): void;
  /** @param isWhole false if the connection broke before HTTP's own end of the body. */
  finish(atUs: number, isWhole: boolean): ReaderResult;
}

export interface ReaderResult {
  readonly failure: FailureClass | null;
  readonly stream: StreamTimes | null;
  readonly outputTokens: number | null;
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
}

export const NO_RESULT: Omit<ReaderResult, "failure"> = {
  stream: null,
  outputTokens: null,
  promptTokens: null,
  cachedTokens: null,
};

/** A body that is not wanted: an error's, or one that came too large. */
export class DiscardReader implements ResponseReader {
  readonly #failure: FailureClass;

  constructor(failure: FailureClass) {
    this.#failure = failure;
  }

  onBytes(): void {}

  finish(): ReaderResult {
    return { ...NO_RESULT, failure: this.#failure };
  }
}

const JSON_BYTES_MAX = 64 * 1024 * 1024;

/** A whole answer in one JSON body. Parsed only after its last byte was stamped. */
export class JsonReader implements ResponseReader {
  #parts: Uint8Array[] = [];
  #size = 0;

  onBytes(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size <= JSON_BYTES_MAX) this.#parts.push(bytes);
    else this.#parts = [];
  }

  finish(_atUs: number, isWhole: boolean): ReaderResult {
    if (!isWhole) return { ...NO_RESULT, failure: "stream-incomplete" };
    const usage = this.#usage();
    if (usage === undefined) return { ...NO_RESULT, failure: "malformed" };
    return { failure: null, stream: null, ...usage };
  }

  /** Undefined if the body is no JSON object. Both APIs' names for the same three counts. */
  #usage(): Omit<ReaderResult, "failure" | "stream"> | undefined {
    let body: unknown;
    try {
      body = JSON.parse(Buffer.concat(this.#parts).toString("utf8"));
    } catch {
      return undefined;
    }
    if (typeof body !== "object" || body === null) return undefined;
    const usage = field(body, "usage");
    const cached = count(
      field(field(usage, "prompt_tokens_details"), "cached_tokens") ??
        field(usage, "cache_read_input_tokens"),
    );
    const input = count(field(usage, "input_tokens"));
    const written = count(field(usage, "cache_creation_input_tokens"));
    return {
      outputTokens: count(field(usage, "completion_tokens") ?? field(usage, "output_tokens")),
      // Anthropic's `input_tokens` leave out what its cache had or took.
      promptTokens:
        count(field(usage, "prompt_tokens")) ??
        (input === null ? null : input + (cached ?? 0) + (written ?? 0)),
      cachedTokens: cached,
    };
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function count(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}
