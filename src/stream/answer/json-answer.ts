/** What a whole JSON answer says of itself, without parsing it: that it is an error in spite of its 200, and its tokens. */
import { bytesText } from "../bytes-text.ts";
import type { UpstreamError } from "../stream-event.ts";
import { readWireError } from "../wire-error.ts";

/** Errors are short; a longer body is an answer. */
const ERROR_BYTES_MAX = 16 * 1024;
const LOOKS_LIKE_ERROR = /^\s*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/;
const QUOTE = 0x22;
const E = 0x65;
const T = 0x74;

/** @param parts of a whole body that came with 200. @returns what it says if it is an error, without parsing answers. */
export function errorInJson(parts: readonly Uint8Array[]): UpstreamError | undefined {
  const first = parts[0];
  if (first === undefined || !mayBeError(first)) return undefined;
  if (!LOOKS_LIKE_ERROR.test(bytesText(first, 0, 64))) return undefined;
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return bytes > ERROR_BYTES_MAX ? undefined : readError(joinedBytes(parts, bytes));
}

/** By the first letter of its first key: nearly all answers begin with another. */
function mayBeError(body: Uint8Array): boolean {
  const letter = body[body.indexOf(QUOTE) + 1];
  return letter === E || letter === T;
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

/** @param body of a whole answer. @returns what it says to have used, read off its last `usage` field without parsing the rest. */
export function usageInJson(body: Uint8Array): CountedTokens | undefined {
  const text = lastUsage(body);
  if (text === undefined) return undefined;
  const read = (name: string): number | undefined => countIn(text, name);
  const prompt = read('"prompt_tokens"');
  const output = read('"completion_tokens"') ?? read('"output_tokens"') ?? 0;
  const cached = read('"cached_tokens"');
  if (prompt !== undefined) {
    return { inputTokens: prompt, outputTokens: output, cachedTokens: cached ?? 0 };
  }
  const input = read('"input_tokens"');
  if (input === undefined) return undefined;
  // OpenAI's responses count the cached ones in, Anthropic's messages do not.
  const isInside = cached !== undefined;
  const cacheRead = read('"cache_read_input_tokens"') ?? 0;
  const cacheWrite = read('"cache_creation_input_tokens"') ?? 0;
  return {
    ...(cacheWrite > 0 && { writtenTokens: cacheWrite }),
    inputTokens: isInside ? input : input + cacheRead + cacheWrite,
    outputTokens: output,
    cachedTokens: cached ?? cacheRead,
  };
}

const USAGE_KEY = '"usage"';
const COUNT_DIGITS_MAX = 12;

/** @returns the text from the last `usage` field on, as far as it may be of interest; undefined if there is none. */
function lastUsage(body: Uint8Array): string | undefined {
  // Backwards in windows that overlap by a key; as a rule it stands in the first.
  for (let end = body.length; end > 0; end -= USAGE_BYTES) {
    const start = Math.max(0, end - USAGE_BYTES);
    const text = bytesText(body, start, Math.min(body.length, end + USAGE_BYTES));
    const at = text.lastIndexOf(USAGE_KEY);
    if (at >= 0) return text.slice(at, at + USAGE_BYTES);
  }
  return undefined;
}

/** @param key with its quotes. @returns the first whole number that stands under it. */
function countIn(text: string, key: string): number | undefined {
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    const colon = pastBlanks(text, at + key.length);
    if (text[colon] !== ":") continue;
    const start = pastBlanks(text, colon + 1);
    let end = start;
    while (end < start + COUNT_DIGITS_MAX && isDigit(text.charCodeAt(end))) end += 1;
    if (end > start) return Number(text.slice(start, end));
  }
  return undefined;
}

function pastBlanks(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return at;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
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
