/** A value as errors and `manx config print` show it: enough to recognise it by, never a secret. */
import { isReference, isSecretName, looksSecret } from "./secret-names.ts";

const SHOWN_CHARS = 60;
export const HIDDEN = "***";

/** @param isSecret what the schema says of it. @param name the key that it stands under. */
export function shownValue(value: unknown, isSecret: boolean, name = ""): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "string" && isHidden(value, isSecret, name)) return HIDDEN;
  const text = printable(JSON.stringify(value));
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

/** A reference says where a secret is and not what it is. */
export function isHidden(value: string, isSecret: boolean, name: string): boolean {
  if (looksSecret(value)) return true;
  return isSecret ? !isReference(value) : isSecretName(name, value);
}

/** Whatever stands in a file, shown in a terminal it changes no colour, moves no cursor and turns no line round. */
export function printable(text: string): string {
  return text.replace(/(?!\t)[\p{Cc}\p{Bidi_Control}]/gu, "\u00b7");
}
