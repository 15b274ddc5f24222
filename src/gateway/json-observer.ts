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

export interface CountedTokens {
  /** The whole prompt, cached or not. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** That went into the provider's cache; left out where it does not say. */
  readonly writtenTokens?: number;
}

/** A `usage` field is the last of an answer or among the last, and short. */
const USAGE_BYTES = 2_048;

const count = (name: string): RegExp => new RegExp(`"${name}"\\s*:\\s*(\\d{1,12})`);
/** Made once: they are asked for with each answer. */
const COUNTS = {
  prompt_tokens: count("prompt_tokens"),
  completion_tokens: count("completion_tokens"),
  input_tokens: count("input_tokens"),
  output_tokens: count("output_tokens"),
  cached_tokens: count("cached_tokens"),
  cache_read_input_tokens: count("cache_read_input_tokens"),
  cache_creation_input_tokens: count("cache_creation_input_tokens"),
} as const;
type CountName = keyof typeof COUNTS;

/** @param body of a whole answer. @returns what it says to have used, read off its last `usage` field without parsing the rest. */
export function usageInJson(body: Buffer): CountedTokens | undefined {
  const at = body.lastIndexOf('"usage"');
  if (at < 0) return undefined;
  const text = body.toString("latin1", at, Math.min(body.length, at + USAGE_BYTES));
  const read = (name: CountName): number | undefined => {
    const found = COUNTS[name].exec(text);
    return found === null ? undefined : Number(found[1]);
  };
  const prompt = read("prompt_tokens");
  const output = read("completion_tokens") ?? read("output_tokens") ?? 0;
  const cached = read("cached_tokens");
  if (prompt !== undefined) {
    return { inputTokens: prompt, outputTokens: output, cachedTokens: cached ?? 0 };
  }
  const input = read("input_tokens");
  if (input === undefined) return undefined;
  // OpenAI's responses count the cached ones in, Anthropic's messages do not.
  const isInside = cached !== undefined;
  const cacheRead = read("cache_read_input_tokens") ?? 0;
  const cacheWrite = read("cache_creation_input_tokens") ?? 0;
  return {
    ...(cacheWrite > 0 && { writtenTokens: cacheWrite }),
    inputTokens: isInside ? input : input + cacheRead + cacheWrite,
    outputTokens: output,
    cachedTokens: cached ?? cacheRead,
  };
}
