/**
 * What a proxy has to know of a request's body, read off its top level without parsing the rest: which model, whether
 * it streams, how long the answer may be, whether it may be computed twice. The bytes stay as they are; the span of the
 * model's name allows it to be replaced. A prompt of 200 KB is skipped string by string, at the speed of `indexOf`.
 *
 * A body that can be read in two ways is refused: two keys of one name may mean one model here and another upstream.
 */
import { ManxError } from "../../core/index.ts";
import { bytesText } from "../bytes-text.ts";

export interface Span {
  /** First byte, and the one after the last; quotes included. */
  readonly start: number;
  readonly end: number;
}

export interface RequestPeek {
  /** undefined if the body names none. */
  readonly model: string | undefined;
  readonly modelSpan: Span | undefined;
  readonly isStream: boolean;
  /** `max_completion_tokens`, `max_output_tokens` or `max_tokens`. */
  readonly outputTokensMax: number | undefined;
  /** `store` as given; undefined if it is not. */
  readonly store: boolean | undefined;
  readonly isBackground: boolean;
  /** A conversation that the provider keeps: each call adds to it. */
  readonly hasConversation: boolean;
  /** The list of tools, to be looked at when needed. */
  readonly toolsSpan: Span | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
/** No API has as many fields. */
const KEYS_MAX = 256;
const MODEL_BYTES_MAX = 512;

/** @throws MANX_REQUEST_INVALID if the body is no JSON object, or a key that matters here stands in it twice. */
export function peekRequest(body: Uint8Array): RequestPeek {
  const spans = new TopLevel(body).read();
  const modelSpan = spans.get("model");
  return {
    model: modelSpan === undefined ? undefined : readModel(body, modelSpan),
    modelSpan,
    isStream: readFlag(body, spans.get("stream")) === true,
    outputTokensMax: readCount(
      body,
      spans.get("max_completion_tokens") ??
        spans.get("max_output_tokens") ??
        spans.get("max_tokens"),
    ),
    store: readFlag(body, spans.get("store")),
    isBackground: readFlag(body, spans.get("background")) === true,
    hasConversation: isSet(body, spans.get("conversation")),
    toolsSpan: spans.get("tools"),
  };
}

/** The body with another model's name. */
export function replaceModel(body: Uint8Array, span: Span, model: string): Uint8Array {
  const name = new TextEncoder().encode(JSON.stringify(model));
  const rest = body.subarray(span.end);
  const replaced = new Uint8Array(span.start + name.length + rest.length);
  replaced.set(body.subarray(0, span.start));
  replaced.set(name, span.start);
  replaced.set(rest, span.start + name.length);
  return replaced;
}

function readModel(body: Uint8Array, span: Span): string {
  const length = span.end - span.start;
  const text = bytesText(body, span.start, span.end);
  if (body[span.start] === QUOTE && length <= MODEL_BYTES_MAX) {
    try {
      return JSON.parse(text) as string;
    } catch {
      // Told below.
    }
  }
  throw invalid("model", "a name", text.slice(0, 80));
}

function readFlag(body: Uint8Array, span: Span | undefined): boolean | undefined {
  if (span === undefined) return undefined;
  const text = bytesText(body, span.start, span.end);
  return text === "true" ? true : text === "false" ? false : undefined;
}

function isSet(body: Uint8Array, span: Span | undefined): boolean {
  return span !== undefined && bytesText(body, span.start, span.end) !== "null";
}

function readCount(body: Uint8Array, span: Span | undefined): number | undefined {
  if (span === undefined) return undefined;
  const count = Number(bytesText(body, span.start, Math.min(span.end, span.start + 24)));
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** Walks over the outermost object of a JSON text. */
class TopLevel {
  readonly #body: Uint8Array;
  #at = 0;
  /** Lists side by side: for the few keys of a request they are searched faster than a map is made. */
  readonly #keys: string[] = [];
  readonly #spans: Span[] = [];

  constructor(body: Uint8Array) {
    this.#body = body;
  }

  /** Where the value of a key stands; undefined if there is no such key. */
  get(key: string): Span | undefined {
    const at = this.#keys.indexOf(key);
    return at < 0 ? undefined : this.#spans[at];
  }

  read(): this {
    this.#expect(OPEN_OBJECT, "an object");
    if (this.#next() === CLOSE_OBJECT) {
      this.#at += 1;
      this.#expectEnd();
      return this;
    }
    for (;;) {
      const key = this.#key();
      this.#expect(COLON, "a colon");
      this.#next();
      const start = this.#at;
      this.#skipValue();
      if (this.#keys.includes(key)) throw invalid(key, "each key once", "a second one");
      if (this.#keys.length >= KEYS_MAX) throw invalid("body", `at most ${KEYS_MAX} keys`, "more");
      this.#keys.push(key);
      this.#spans.push({ start, end: this.#at });
      const byte = this.#next();
      this.#at += 1;
      if (byte === CLOSE_OBJECT) break;
      if (byte !== COMMA) throw this.#broken("a comma or the end of the object");
    }
    this.#expectEnd();
    return this;
  }

  /** The next byte that is no white space; stays on it. */
  #next(): number {
    const body = this.#body;
    for (;;) {
      const byte = body[this.#at];
      if (byte === undefined) throw this.#broken("more");
      if (!isBlank(byte)) return byte;
      this.#at += 1;
    }
  }

  #expect(wanted: number, what: string): void {
    if (this.#next() !== wanted) throw this.#broken(what);
    this.#at += 1;
  }

  #expectEnd(): void {
    const body = this.#body;
    for (let at = this.#at; at < body.length; at += 1) {
      if (!isBlank(body[at]!)) throw this.#broken("the end");
    }
  }

  #key(): string {
    if (this.#next() !== QUOTE) throw this.#broken("a key");
    const start = this.#at;
    this.#skipString();
    const text = bytesText(this.#body, start, this.#at);
    if (!text.includes("\\")) return text.slice(1, -1);
    // "mod\u0065l" is the same key.
    try {
      return JSON.parse(text) as string;
    } catch {
      throw this.#broken("a key");
    }
  }

  #skipString(): void {
    const body = this.#body;
    let at = this.#at;
    for (;;) {
      at = body.indexOf(QUOTE, at + 1);
      if (at < 0) throw this.#broken("the end of a string");
      let escapes = at;
      while (body[escapes - 1] === BACKSLASH) escapes -= 1;
      // An odd number of backslashes before it makes the quote part of the string.
      if ((at - escapes) % 2 === 0) break;
    }
    this.#at = at + 1;
  }

  #skipValue(): void {
    const body = this.#body;
    const first = body[this.#at];
    if (first === QUOTE) {
      this.#skipString();
      return;
    }
    if (first === OPEN_OBJECT || first === OPEN_LIST) {
      this.#skipNested();
      return;
    }
    const start = this.#at;
    for (let byte = first; byte !== undefined && isScalar(byte); byte = body[this.#at])
      this.#at += 1;
    if (this.#at === start) throw this.#broken("a value");
  }

  #skipNested(): void {
    const body = this.#body;
    let depth = 0;
    do {
      const byte = body[this.#at];
      if (byte === undefined) throw this.#broken("the end of a list or object");
      if (byte === QUOTE) {
        this.#skipString();
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
      this.#at += 1;
    } while (depth > 0);
  }

  #broken(expected: string): ManxError {
    return new ManxError("MANX_REQUEST_INVALID", {
      what: "the body is not JSON",
      where: `request body, byte ${this.#at}`,
      expected,
    });
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Letters, digits and signs: what numbers, true, false and null are made of. */
function isScalar(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x45
  );
}

function invalid(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_REQUEST_INVALID", { where, expected, got });
}
