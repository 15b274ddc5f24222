/**
 * Tells when the text of a JSON object or array is whole, from pieces, without parsing: only brackets and strings are
 * followed. It costs one look at each character; whether the text is good JSON is for `JSON.parse` to say at the end.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class JsonEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #hasOpened = false;

  /** The outermost bracket has been closed. */
  get isClosed(): boolean {
    return this.#hasOpened && this.#depth === 0;
  }

  push(piece: string): void {
    for (let i = 0; i < piece.length; i += 1) {
      const unit = piece.charCodeAt(i);
      if (!this.#inString) this.#outside(unit);
      else if (this.#isEscaped) this.#isEscaped = false;
      else if (unit === BACKSLASH) this.#isEscaped = true;
      else if (unit === QUOTE) this.#inString = false;
    }
  }

  #outside(unit: number): void {
    if (unit === QUOTE) this.#inString = true;
    // { and [ are followed by their closing forms two further on in ASCII.
    else if (unit === 0x7b || unit === 0x5b) {
      this.#depth += 1;
      this.#hasOpened = true;
    } else if (unit === 0x7d || unit === 0x5d) this.#depth -= 1;
  }
}
