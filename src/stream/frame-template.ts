/**
 * Most frames of a stream differ from the one before them in nothing but a piece of text. Such a frame need not be parsed:
 * if it begins and ends as a frame did that was, and what lies between is the inside of a JSON string, it says the same
 * with another text. That is exact, not a guess: equal bytes around a valid string are an equal document around it.
 *
 *     {"id":"c","choices":[{"index":0,"delta":{"content":"  Hello  "},"finish_reason":null}]}
 *     └────────────────── prefix ──────────────────────┘ text  └────────── suffix ──────────┘
 *
 * Learnt only from a frame that gave one text and nothing else, and forgotten at the first that differs: between two frames
 * of one template nothing can have changed what a reader makes of them.
 */
import type { SseFrame } from "./sse-decoder.ts";
import type { TextDelta } from "./stream-event.ts";

type DataFrame = Extract<SseFrame, { kind: "event" }>;

/** Looked at character by character; a longer text is parsed, which costs it less in proportion. */
const TEXT_UNITS_MAX = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export class FrameTemplate {
  #isKnown = false;
  #event = "";
  #prefix = "";
  #suffix = "";
  #choice = 0;

  /** Of the learnt frame; the same for all that match. */
  get choice(): number {
    return this.#choice;
  }

  forget(): void {
    this.#isKnown = false;
  }

  /** @param delta the one event that the frame gave. */
  learn({ data, event }: DataFrame, { text, choice }: TextDelta): void {
    this.#isKnown = false;
    const json = JSON.stringify(text);
    const at = data.indexOf(json);
    // Where it stands twice, nobody can tell which one was read.
    if (text === "" || at < 0 || data.indexOf(json, at + 1) >= 0) return;
    this.#prefix = data.slice(0, at + 1);
    this.#suffix = data.slice(at + json.length - 1);
    this.#event = event;
    this.#choice = choice;
    this.#isKnown = true;
  }

  /** @returns the frame's text, or undefined if it has to be parsed. */
  match({ data, event }: DataFrame): string | undefined {
    if (!this.#isKnown || event !== this.#event) return undefined;
    const start = this.#prefix.length;
    const end = data.length - this.#suffix.length;
    if (end <= start || end - start > TEXT_UNITS_MAX) return undefined;
    // Slices, since V8 compares two strings of one length at once, and `startsWith` unit by unit: three times as long.
    if (data.slice(0, start) !== this.#prefix || data.slice(end) !== this.#suffix) return undefined;
    for (let i = start; i < end; i += 1) {
      const unit = data.charCodeAt(i);
      if (unit === QUOTE || unit === BACKSLASH || unit < SPACE) return undefined;
    }
    return data.slice(start, end);
  }
}
