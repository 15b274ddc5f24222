/** Colour for a terminal, or none. Colour repeats what a sign or a word says already; nothing depends on it. */
export interface Ink {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly doubt: (text: string) => string;
}

const sgr =
  (code: string) =>
  (text: string): string =>
    text === "" ? "" : `\x1b[${code}m${text}\x1b[0m`;

const plain = (text: string): string => text;

export const PLAIN_INK: Ink = { bold: plain, dim: plain, good: plain, bad: plain, doubt: plain };

/** Blue, orange and yellow are told apart by those who cannot tell red from green. */
export const COLOUR_INK: Ink = {
  bold: sgr("1"),
  dim: sgr("2"),
  good: sgr("34"),
  bad: sgr("1;38;5;166"),
  doubt: sgr("33"),
};
