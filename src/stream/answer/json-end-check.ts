/**
 * Whether a JSON text stops before its end, told piece by piece. A transport that keeps its own word (the declared length, a
 * last chunk) can still carry half an answer: only the text tells. Brackets and strings are followed, nothing is parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export class JsonEndCheck {
  #depth = 0;
  #isInString = false;
  /** The piece before ended in a backslash that makes the next byte part of the string. */
  #isEscaped = false;

  /** False for a text that is no object or list: about its end nothing can be said. */
  get isCutShort(): boolean {
    return this.#depth > 0;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    let depth = this.#depth;
    let at = this.#isInString ? this.#stringEnd(bytes, 0) + 1 : 0;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        this.#isInString = true;
        at = this.#stringEnd(bytes, at + 1);
      } else if (byte < OPEN_LIST) {
        // Digits, commas and white space, of which a long answer outside its strings is made.
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    }
    this.#depth = depth;
  }

  /** @returns where the string that goes on at `start` has its last quote; the length if it goes on beyond this piece. */
  #stringEnd(bytes: Uint8Array, start: number): number {
    let from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, from);
      const end = quote < 0 ? bytes.length : quote;
      let escapes = end;
      while (escapes > from && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
      // An odd number of backslashes makes what follows part of the string.
      const isEscaped = (end - escapes) % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return end;
      }
      if (!isEscaped) {
        this.#isInString = false;
        return end;
      }
      from = quote + 1;
    }
  }
}

/** @returns false for a text that is no object or list: about its end nothing can be said. */
export function isCutShort(body: Uint8Array): boolean {
  const check = new JsonEndCheck();
  check.push(body);
  return check.isCutShort;
}
