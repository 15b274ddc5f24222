/**
 * Most frames of a stream differ from the one before them in nothing but a piece of text. Such a frame need not be taken
 * apart: if its lines begin and end as those of a frame did that was, and what lies between is the inside of a JSON string,
 * it says the same with another text. That is exact, not a guess: equal text around a valid string is an equal document
 * around it, in equal lines.
 *
 *     data: {"id":"c","choices":[{"index":0,"delta":{"content":"  Hello  "},"finish_reason":null}]}⏎⏎
 *     └─────────────────────── prefix ────────────────────────┘ text  └─────────── suffix ──────────┘
 *
 * Learnt only from a frame that gave one text and nothing else, and forgotten at the first that differs: between two frames
 * of one template nothing can have changed what a reader makes of them.
 */
import type { ReasoningDelta, StreamEvent, TextDelta } from "./stream-event.ts";

/** Looked at character by character; a longer text is parsed, which costs it less in proportion. */
const TEXT_UNITS_MAX = 256;
/** A stream whose frames all differ in more than their text is not looked at any longer. */
const USELESS_MAX = 8;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export type Said = TextDelta["type"] | ReasoningDelta["type"];

export class FrameTemplate {
  readonly #frameUnitsMax: number;
  /** Empty while none is known. */
  #prefix = "";
  #suffix = "";
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
    this.#prefix = "";
  }

  /** Whether a frame is worth its lines, of which this one event came. */
  canLearn(event: StreamEvent | undefined): event is StreamEvent & (TextDelta | ReasoningDelta) {
    if (this.#useless >= USELESS_MAX) return false;
    return event?.type === "text-delta" || event?.type === "reasoning-delta";
  }

  /** @param lines of the frame, as they stand on the wire but for their ends, which are LF. @param delta all that it gave. */
  learn(lines: string, delta: TextDelta | ReasoningDelta): void {
    this.#prefix = "";
    if (!isPlain(lines) || lines.length + TEXT_UNITS_MAX > this.#frameUnitsMax) return;
    const quoted = `"${delta.text}"`;
    const at = lines.indexOf(quoted);
    // Where it stands twice, nobody can tell which one was read.
    if (delta.text === "" || at < 0 || lines.indexOf(quoted, at + 1) >= 0) return;
    this.#useless += 1;
    this.#prefix = lines.slice(0, at + 1);
    this.#suffix = lines.slice(at + quoted.length - 1);
    this.type = delta.type;
    this.choice = delta.choice;
  }

  /** @param at where a frame begins in `lines`. @returns where it ends, or −1 if it has to be read. */
  match(lines: string, at: number): number {
    const prefix = this.#prefix;
    if (prefix === "") return -1;
    const start = at + prefix.length;
    // Slices, since V8 compares two strings of one length at once, and `startsWith` unit by unit: three times as long.
    if (lines.slice(at, start) !== prefix) return -1;
    const end = this.#textEnd(lines, start);
    const frameEnd = end + this.#suffix.length;
    if (end < 0 || lines.slice(end, frameEnd) !== this.#suffix) return -1;
    this.#start = start;
    this.#end = end;
    this.#useless = 0;
    return frameEnd;
  }

  /** What was matched last. @param lines the same as then. */
  text(lines: string): string {
    return this.#unescaped ?? lines.slice(this.#start, this.#end);
  }

  /** Size of that text in UTF-16 units, without making it. */
  get textUnits(): number {
    return this.#unescaped?.length ?? this.#end - this.#start;
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
    this.#unescaped = hasEscapes ? unquoted(lines.slice(start - 1, end + 1)) : undefined;
    return hasEscapes && this.#unescaped === undefined ? -1 : end;
  }
}

/** Without comments, which are told for themselves, and without escapes: a text that is read stands in it as it is. */
function isPlain(lines: string): boolean {
  return !lines.includes("\\") && !lines.startsWith(":") && !lines.includes("\n:");
}

/** @param json of a string, perhaps. */
function unquoted(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}
