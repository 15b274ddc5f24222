/**
 * HTML by tagged template. Whatever is put into a template is escaped unless this module made it, so no text of a document
 * (a model's name, a server's error) can become markup: safe by construction, not by care.
 */
import { printable } from "./printable.ts";

export class Markup {
  readonly text: string;

  /** Takes the text as it is; everything else comes from `html`. */
  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Markup | string | number | null | undefined | false | readonly Piece[];

export const NOTHING = new Markup("");

/** Strings and numbers are escaped, lists joined; null, undefined and false are left out. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  const text = strings.reduce(
    (before, literal, index) => before + written(pieces[index - 1]) + literal,
  );
  return new Markup(text);
}

function written(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "string") return escapeMarkup(piece);
  return typeof piece === "number" ? String(piece) : piece.map(written).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For element content and quoted attributes, of XML too: what XML 1.0 cannot hold becomes U+FFFD. */
export function escapeMarkup(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/**
 * JSON for a `<script type="application/json">`: reads back to the same value, and holds neither a tag, nor a comment's
 * start, nor a line separator that older script parsers stumble over.
 */
export function scriptJson(value: unknown): Markup {
  const json = JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return new Markup(json);
}
