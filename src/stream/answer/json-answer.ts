/** What a whole JSON answer says of itself, without parsing it: that it is an error in spite of its 200, and its tokens. */
import { bytesText } from "../bytes-text.ts";
import type { UpstreamError } from "../stream-event.ts";
import { readWireError } from "../wire-error.ts";

/** Errors are short; a longer body is an answer. */
const ERROR_BYTES_MAX = 16 * 1024;
const LOOKS_LIKE_ERROR = /^\s*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/;

/** @param parts of a whole body that came with 200. @returns what it says if it is an error, without parsing answers. */
export function errorInJson(parts: readonly Uint8Array[]): UpstreamError | undefined {
  const first = parts[0];
  if (first === undefined || !LOOKS_LIKE_ERROR.test(bytesText(first, 0, 64))) return undefined;
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return bytes > ERROR_BYTES_MAX ? undefined : readError(joinedBytes(parts, bytes));
}

/** @returns the error of a body in OpenAI's or Anthropic's form, or undefined if it has none. */
function readError(body: Uint8Array): UpstreamError | undefined {
  try {
    const { error } = JSON.parse(bytesText(body)) as { error?: unknown };
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
export function usageInJson(body: Uint8Array): CountedTokens | undefined {
  const at = lastUsageAt(body);
  if (at < 0) return undefined;
  const text = bytesText(body, at, Math.min(body.length, at + USAGE_BYTES));
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

const USAGE_KEY = new TextEncoder().encode('"usage"');

/** From the end, where it is. @returns −1 if there is none. */
function lastUsageAt(body: Uint8Array): number {
  const [quote] = USAGE_KEY;
  let at = body.length - USAGE_KEY.length;
  for (; at >= 0; at -= 1) {
    if (body[at] === quote && USAGE_KEY.every((byte, i) => body[at + i] === byte)) break;
  }
  return at;
}

/** The parts as one; the part itself if there is only one. @param bytes of all. */
export function joinedBytes(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
