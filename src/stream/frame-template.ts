/**
 * Most frames of a stream differ from the one before them in nothing but a piece of text. Such a frame need not be taken
 * apart: if its lines begin and end as those of a frame did that was, and what lies between is the inside of a JSON string,
 * it says the same with another text. That is exact, not a guess: equal text around a valid string is an equal document
 * around it, in equal lines.
 *
 *     data: {"id":"c","choices":[{"index":0,"delta":{"content":"  Hello  "},"finish_reason":null}],"obfuscation":"x9"}⏎⏎
 *     └──────────────────────── piece ────────────────────────┘ text  └────────────── piece ─────────────────────┘  └─┘
 *
 * A value that changes with each frame and that no reader looks at is a gap like the text, of which nothing is made.
 *
 * Learnt only from a frame that gave one text and nothing else, and forgotten at the first that differs: between two frames
 * of one template nothing can have changed what a reader makes of them.
 */
import type { ReasoningDelta, StreamEvent, TextDelta } from "./stream-event.ts";

/** Looked at character by character; a longer text is parsed, which costs it less in proportion. */
const TEXT_UNITS_MAX = 256;
/** A stream whose frames all differ in more than their text is not looked at any longer. */
const USELESS_MAX = 8;
const COUNT_DIGITS_MAX = 15;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

export type Said = TextDelta["type"] | ReasoningDelta["type"];

interface Gap {
  readonly kind: "text" | "filler" | "count";
  readonly start: number;
  readonly end: number;
}

/** What OpenAI adds to each event: characters that hide the length of its text, and its number. */
const FILLER_KEY = '"obfuscation":"';
const COUNT_KEY = '"sequence_number":';

export class FrameTemplate {
  readonly #frameUnitsMax: number;
  /** What stands before, between and after the gaps; empty while no template is known. */
  #pieces: readonly string[] = [];
  #gaps: readonly Gap["kind"][] = [];
  /** Learnt in a row without a match. */
  #useless = 0;
  /** Of the learnt frame; the same for all that match. */
  type: Said = "text-delta";
  choice = 0;
  /** Of the text that was matched last: where it stands in the lines, and what it says if it has escapes. */
  #start = 0;
  #end = 0;
  #unescaped: string | undefined;

  /** @param frameUnitsMax a frame that might be larger is none of a template. */
  constructor(frameUnitsMax: number) {
    this.#frameUnitsMax = frameUnitsMax;
  }

  forget(): void {
    this.#pieces = NONE;
  }

  /** Whether a frame is worth its lines, of which this one event came. */
  canLearn(event: StreamEvent | undefined): event is StreamEvent & (TextDelta | ReasoningDelta) {
    if (this.#useless >= USELESS_MAX) return false;
    return event?.type === "text-delta" || event?.type === "reasoning-delta";
  }

  /** @param lines of the frame, as they stand on the wire but for their ends, which are LF. @param delta all that it gave. */
  learn(lines: string, delta: TextDelta | ReasoningDelta): void {
    this.#pieces = NONE;
    if (!isPlain(lines)) return;
    const gaps = gapsOf(lines, delta.text);
    if (lines.length + gaps.length * TEXT_UNITS_MAX > this.#frameUnitsMax) return;
    if (!gaps.some(({ kind }) => kind === "text")) return;
    this.#useless += 1;
    this.#pieces = [...gaps, undefined].map((gap, i) => lines.slice(gaps[i - 1]?.end, gap?.start));
    this.#gaps = gaps.map(({ kind }) => kind);
    this.type = delta.type;
    this.choice = delta.choice;
  }

  /** @param at where a frame begins in `lines`. @returns where it ends, or −1 if it has to be read. */
  match(lines: string, at: number): number {
    const pieces = this.#pieces;
    if (pieces.length === 0) return -1;
    let next = at;
    for (let i = 0; i < pieces.length; i += 1) {
      if (i > 0) next = this.#gapEnd(this.#gaps[i - 1]!, lines, next);
      if (next < 0) return -1;
      const start = next;
      next += pieces[i]!.length;
      // A slice, since V8 compares two strings of one length at once, and `startsWith` unit by unit: three times as long.
      if (lines.slice(start, next) !== pieces[i]) return -1;
    }
    this.#useless = 0;
    return next;
  }

  /** What was matched last. @param lines the same as then. */
  text(lines: string): string {
    return this.#unescaped ?? lines.slice(this.#start, this.#end);
  }

  /** Size of that text in UTF-16 units, without making it. */
  get textUnits(): number {
    return this.#unescaped?.length ?? this.#end - this.#start;
  }

  #gapEnd(kind: Gap["kind"], lines: string, start: number): number {
    if (kind === "text") return this.#textEnd(lines, start);
    return kind === "filler" ? fillerEnd(lines, start) : countEnd(lines, start);
  }

  /** @returns where the string ends whose inside begins at `start`; −1 if it is empty, no valid one, or too long. */
  #textEnd(lines: string, start: number): number {
    const limit = Math.min(lines.length, start + TEXT_UNITS_MAX);
    let hasEscapes = false;
    let end = start;
    for (; end < limit; end += 1) {
      const unit = lines.charCodeAt(end);
      if (unit === QUOTE) break;
      if (unit < SPACE) return -1;
      if (unit === BACKSLASH) {
        hasEscapes = true;
        end += 1;
      }
    }
    if (end >= limit || end === start) return -1;
    this.#start = start;
    this.#end = end;
    this.#unescaped = hasEscapes ? unquoted(lines.slice(start - 1, end + 1)) : undefined;
    return hasEscapes && this.#unescaped === undefined ? -1 : end;
  }
}

const NONE: readonly string[] = [];

/** Without comments, which are told for themselves, and without escapes: a text that is read stands in it as it is. */
function isPlain(lines: string): boolean {
  return !lines.includes("\\") && !lines.startsWith(":") && !lines.includes("\n:");
}

/** In order. No text is among them if nobody can tell which one was read. */
function gapsOf(lines: string, text: string): Gap[] {
  const gaps: Gap[] = [];
  const quoted = lines.indexOf(`"${text}"`);
  const isSure = text !== "" && quoted >= 0 && lines.indexOf(`"${text}"`, quoted + 1) < 0;
  if (isSure) gaps.push({ kind: "text", start: quoted + 1, end: quoted + 1 + text.length });
  const filler = afterOnly(lines, FILLER_KEY);
  if (filler > 0) gaps.push({ kind: "filler", start: filler, end: fillerEnd(lines, filler) });
  const count = afterOnly(lines, COUNT_KEY);
  if (count > 0) gaps.push({ kind: "count", start: count, end: countEnd(lines, count) });
  return gaps.filter(({ end }) => end >= 0).sort((a, b) => a.start - b.start);
}

/** @returns where the value begins whose key this is; 0 if there is none, or more than one. */
function afterOnly(lines: string, key: string): number {
  const at = lines.indexOf(key);
  return at < 0 || lines.indexOf(key, at + 1) >= 0 ? 0 : at + key.length;
}

/** @returns where a string without escapes ends; −1 if it is none or too long. */
function fillerEnd(lines: string, start: number): number {
  const limit = Math.min(lines.length, start + TEXT_UNITS_MAX);
  for (let end = start; end < limit; end += 1) {
    const unit = lines.charCodeAt(end);
    if (unit === QUOTE) return end;
    if (unit < SPACE || unit === BACKSLASH) return -1;
  }
  return -1;
}

/** @returns where a whole number ends; −1 if it is none. What follows it is the next piece's business. */
function countEnd(lines: string, start: number): number {
  let end = start;
  while (isDigit(lines.charCodeAt(end)) && end - start < COUNT_DIGITS_MAX) end += 1;
  const hasLeadingZero = end - start > 1 && lines.charCodeAt(start) === ZERO;
  return end === start || hasLeadingZero ? -1 : end;
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= NINE;
}

/** @param json of a string, perhaps. */
function unquoted(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}
