/**
 * Text of a document may come from a server under test or from a file of somebody else: a control character in it could
 * move a terminal's cursor, hide a line, or break a parser.
 */

const UNPRINTABLE =
  /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]|\p{Surrogate}|\p{Noncharacter_Code_Point}/gu;

/**
 * Control characters, those that turn the direction of writing, non-characters and halves of a surrogate pair become
 * U+FFFD; line ends and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/** The same in one line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, " "));
}
