/** Text and data inside HTML: nothing that a document says can become markup or script. */
import { printable } from "./printable.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For element content and quoted attributes, of XML too: what XML 1.0 cannot hold becomes U+FFFD. */
export function escapeHtml(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/**
 * JSON for a `<script type="application/json">`: reads back to the same value, and holds neither a tag, nor a comment's
 * start, nor a line separator that older script parsers stumble over.
 */
export function embedJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
