/**
 * A configuration's text with its positions: offset to line and column, and the line with a caret that errors show.
 * A shown line never holds a secret: what looks like one is masked, character for character, so that the caret stays.
 */
import { isSecretName, looksSecret } from "./secret-names.ts";
import { printable } from "./shown-value.ts";

export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
}

/** Longest part of a line that is shown. */
const SHOWN_COLUMNS = 100;

export class SourceText {
  readonly text: string;
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
  }

  /** @param offset from 0; beyond the end is the end. */
  positionOf(offset: number): Position {
    const starts = this.#lineStarts;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    const column = Math.min(offset, this.text.length) - starts[low]! + 1;
    return { line: low + 1, column };
  }

  /**
   *     14 |   "gpu": "h10",
   *        |          ^^^^^
   *
   * @param length of what is wrong; the caret line ends with the line.
   */
  excerpt(offset: number, length: number): string {
    const { line, column } = this.positionOf(offset);
    const start = this.#lineStarts[line - 1]!;
    const end = this.#lineStarts[line] ?? this.text.length + 1;
    const whole = printable(maskSecrets(this.text.slice(start, end - 1).replace(/\r$/, "")));
    // Of a line of a minified file, the part around the caret.
    const from = column - 1 > SHOWN_COLUMNS - 20 ? column - 1 - 20 : 0;
    const shown = whole.slice(from, from + SHOWN_COLUMNS);
    const before = shown.slice(0, column - 1 - from).replace(/[^\t]/g, " ");
    const width = Math.min(Math.max(1, length), Math.max(1, shown.length - before.length));
    const label = String(line);
    const blank = " ".repeat(label.length);
    return `${label} | ${shown}\n${blank} | ${before}${"^".repeat(width)}`;
  }
}

/** A string in JSON, with the property name before it if there is one; it may lack its end. */
const STRING = /(?:"((?:[^"\\]|\\.)*)"(\s*:\s*))?"((?:[^"\\]|\\.)*)("?)/g;
/** A value that should have been in quotes. */
const BARE = /"((?:[^"\\]|\\.)*)"(\s*:\s*)([^\s"{}[\],]+)/g;
/** The rest of a list of values under one name. */
const LIST = /"((?:[^"\\]|\\.)*)"\s*:\s*\[[^\]]*/g;
const WORD = /[\w.+/=:@-]{8,}/g;
const JSON_WORD = /^(true|false|null|-?\d[\d.eE+-]*)$/;

function maskSecrets(line: string): string {
  const stars = (text: string): string => "*".repeat(text.length);
  return line
    .replace(STRING, (whole, name: string | undefined, colon: string, value: string, end) => {
      const hide = looksSecret(value) || (name !== undefined && isSecretName(name, value));
      if (!hide) return whole;
      return `${name === undefined ? "" : `"${name}"${colon}`}"${stars(value)}${end}`;
    })
    .replace(BARE, (whole, name: string, colon: string, value: string) => {
      const hide = isSecretName(name, value) && !JSON_WORD.test(value);
      return hide ? `"${name}"${colon}${stars(value)}` : whole;
    })
    .replace(LIST, (whole, name: string) => {
      if (!isSecretName(name, whole)) return whole;
      const open = whole.indexOf("[", name.length + 2) + 1;
      return whole.slice(0, open) + whole.slice(open).replace(/[^\s",]/g, "*");
    })
    .replace(WORD, (word) => (looksSecret(word) ? stars(word) : word));
}
