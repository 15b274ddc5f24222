/**
 * The JSON of a tool call while it streams in: a strict parser that is fed in pieces, looks at each character once, and
 * knows at any time what is certain. It seals the object with its closing brace, so that a call can start there and not
 * with some later event, and it seals each top-level field with the end of its value.
 *
 * Invariants: `value` is a consistent view after every piece, wherever the text is cut, inside `\uXXXX` and between
 * surrogates too (casebook RT-04): strings only grow and never end in half a character, and a number or literal appears
 * once it is whole. When `isClosed`, `value` equals what `JSON.parse` makes of the text. Once there is a `problem`, no
 * continuation can mend it.
 *
 *     value ─┬─ "  ─► string ⇄ escape ⇄ unicode ─┐
 *            ├─ {[ ─► first ─► (key ─► colon) ─► value …
 *            ├─ -0 ─► number ────────────────────┼─► after ─► , ] } … ─► done
 *            └─ tfn ─► literal ──────────────────┘
 */

/** Deeper arguments are no arguments; it bounds what a hostile stream makes us keep. */
const DEPTH_MAX = 512;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
const LITERALS: ReadonlyMap<string, readonly [word: string, value: boolean | null]> = new Map([
  ["t", ["true", true]],
  ["f", ["false", false]],
  ["n", ["null", null]],
]);

type State =
  | "value"
  | "array-first"
  | "object-first"
  | "key"
  | "colon"
  | "after"
  | "string"
  | "escape"
  | "unicode"
  | "number"
  | "literal"
  | "done"
  | "broken";

type Container = Record<string, unknown> | unknown[];

interface Level {
  readonly container: Container;
  /** Of an object: the key whose value is at hand. */
  key: string;
}

export class JsonSealer {
  #state: State = "value";
  readonly #levels: Level[] = [];
  #root: Container | undefined;
  #chars = "";
  #lastUnit = 0;
  #isKey = false;
  /** The string at hand stands in its array already. */
  #isPlaced = false;
  /** Hexadecimal digits of an escape, a number, or the word of a literal, so far. */
  #token = "";
  #literal: readonly [string, boolean | null] = ["", null];
  readonly #sealed = new Set<string>();
  #problem: string | null = null;
  #hasDuplicates = false;

  /** The closing brace has come. */
  get isClosed(): boolean {
    return this.#state === "done";
  }

  /** Why the text is no JSON object or array, whatever follows; null as long as it can become one. */
  get problem(): string | null {
    return this.#problem;
  }

  /** What is certain so far; undefined before the first bracket. The same object is filled on, so do not keep it. */
  get value(): unknown {
    return this.#root;
  }

  /** A top-level key came twice: what was sealed first does not count, as with `JSON.parse`. */
  get hasDuplicates(): boolean {
    return this.#hasDuplicates;
  }

  /** Whether the value of a top-level field has come to its end. */
  isSealed(field: string): boolean {
    return this.#sealed.has(field);
  }

  /** The sealed top-level fields, as an object of its own. */
  sealedFields(): Record<string, unknown> {
    const root = this.#root;
    const fields: Record<string, unknown> = {};
    if (root === undefined || Array.isArray(root)) return fields;
    for (const name of this.#sealed) define(fields, name, root[name]);
    return fields;
  }

  push(piece: string): void {
    let at = 0;
    while (at < piece.length && this.#state !== "broken") {
      if (this.#state === "string") at = this.#string(piece, at);
      else {
        this.#step(piece.charCodeAt(at), piece[at]!);
        at += 1;
      }
    }
    this.#showString();
  }

  #string(piece: string, from: number): number {
    let at = from;
    let unit = piece.charCodeAt(at);
    while (unit !== QUOTE && unit !== BACKSLASH && unit >= FIRST_PRINTABLE) {
      at += 1;
      // NaN at the end of the piece ends the loop.
      unit = piece.charCodeAt(at);
    }
    if (at > from) {
      this.#chars += piece.slice(from, at);
      this.#lastUnit = piece.charCodeAt(at - 1);
    }
    if (at === piece.length) return at;
    if (unit === QUOTE) this.#endString();
    else if (unit === BACKSLASH) this.#state = "escape";
    else this.#break("a control character in a string");
    return at + 1;
  }

  #step(unit: number, character: string): void {
    switch (this.#state) {
      case "escape":
        this.#escape(character);
        return;
      case "unicode":
        this.#unicode(character);
        return;
      case "literal":
        this.#literalLetter(character);
        return;
      case "number":
        if (isNumberUnit(unit)) this.#token += character;
        else {
          this.#endNumber();
          this.#step(unit, character);
        }
        return;
      case "broken":
        return;
      default:
        if (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) return;
        this.#structure(unit, character);
    }
  }

  #structure(unit: number, character: string): void {
    switch (this.#state) {
      case "object-first":
        if (unit === CLOSE_BRACE) this.#close();
        else this.#key(unit);
        return;
      case "key":
        this.#key(unit);
        return;
      case "colon":
        if (character === ":") this.#state = "value";
        else this.#break("a key without a colon");
        return;
      case "array-first":
        if (unit === CLOSE_BRACKET) this.#close();
        else this.#value(unit, character);
        return;
      case "value":
        this.#value(unit, character);
        return;
      case "after":
        this.#after(unit, character);
        return;
      default:
        this.#break("text after the end");
    }
  }

  #key(unit: number): void {
    if (unit === QUOTE) this.#beginString(true);
    else this.#break("a key without quotes");
  }

  #value(unit: number, character: string): void {
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      this.#open(unit === OPEN_BRACE ? {} : []);
    } else if (this.#levels.length === 0) this.#break("no object");
    else if (unit === QUOTE) this.#beginString(false);
    else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) {
      this.#token = character;
      this.#state = "number";
    } else {
      const literal = LITERALS.get(character);
      if (literal === undefined) {
        this.#break("a value that JSON does not have");
        return;
      }
      this.#literal = literal;
      this.#token = character;
      this.#state = "literal";
    }
  }

  #after(unit: number, character: string): void {
    const inArray = Array.isArray(this.#levels.at(-1)!.container);
    if (character === ",") this.#state = inArray ? "value" : "key";
    else if (unit === (inArray ? CLOSE_BRACKET : CLOSE_BRACE)) this.#close();
    else this.#break("a value that is followed by neither a comma nor the end");
  }

  #open(container: Container): void {
    if (this.#levels.length >= DEPTH_MAX) {
      this.#break("nested too deeply");
      return;
    }
    if (this.#levels.length === 0) this.#root = container;
    else this.#place(container);
    this.#levels.push({ container, key: "" });
    this.#state = Array.isArray(container) ? "array-first" : "object-first";
  }

  #close(): void {
    this.#levels.pop();
    if (this.#levels.length === 0) this.#state = "done";
    else this.#endValue();
  }

  #beginString(isKey: boolean): void {
    this.#chars = "";
    this.#lastUnit = 0;
    this.#isKey = isKey;
    this.#isPlaced = false;
    this.#state = "string";
  }

  #endString(): void {
    if (!this.#isKey) {
      this.#place(this.#chars);
      this.#endValue();
      return;
    }
    this.#levels.at(-1)!.key = this.#chars;
    this.#state = "colon";
  }

  #escape(character: string): void {
    if (character === "u") {
      this.#token = "";
      this.#state = "unicode";
      return;
    }
    const meant = Object.hasOwn(ESCAPES, character) ? ESCAPES[character]! : "";
    if (meant === "") {
      this.#break("an escape that JSON does not have");
      return;
    }
    this.#chars += meant;
    this.#lastUnit = 0;
    this.#state = "string";
  }

  #unicode(character: string): void {
    if (!/[0-9a-fA-F]/.test(character)) {
      this.#break("an escape that is not four hexadecimal digits");
      return;
    }
    this.#token += character;
    if (this.#token.length < 4) return;
    this.#lastUnit = Number.parseInt(this.#token, 16);
    this.#chars += String.fromCharCode(this.#lastUnit);
    this.#state = "string";
  }

  #literalLetter(character: string): void {
    const [word, value] = this.#literal;
    this.#token += character;
    if (!word.startsWith(this.#token)) this.#break("a value that JSON does not have");
    else if (this.#token.length === word.length) {
      this.#place(value);
      this.#endValue();
    }
  }

  #endNumber(): void {
    if (!NUMBER.test(this.#token)) {
      this.#break("a number that JSON does not have");
      return;
    }
    this.#place(Number(this.#token));
    this.#endValue();
  }

  /** A string that is still open shows what it has, unless that ends in half a character. */
  #showString(): void {
    const isOpen =
      this.#state === "string" || this.#state === "escape" || this.#state === "unicode";
    if (!isOpen || this.#isKey || (this.#lastUnit >= 0xd800 && this.#lastUnit <= 0xdbff)) return;
    this.#place(this.#chars);
    this.#isPlaced = true;
  }

  #place(value: unknown): void {
    const level = this.#levels.at(-1)!;
    const { container } = level;
    if (!Array.isArray(container)) define(container, level.key, value);
    else if (this.#isPlaced) container[container.length - 1] = value;
    else container.push(value);
  }

  #endValue(): void {
    this.#isPlaced = false;
    this.#state = "after";
    if (this.#levels.length !== 1) return;
    const { container, key } = this.#levels[0]!;
    if (Array.isArray(container)) return;
    if (this.#sealed.has(key)) this.#hasDuplicates = true;
    this.#sealed.add(key);
  }

  #break(problem: string): void {
    this.#problem = problem;
    this.#state = "broken";
  }
}

function isNumberUnit(unit: number): boolean {
  return (
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x2d ||
    unit === 0x2b ||
    unit === 0x2e ||
    unit === 0x65 ||
    unit === 0x45
  );
}

/** As `JSON.parse` does it: a field of that name, not the prototype. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else {
    const isPlain = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(target, name, isPlain);
  }
}
