/**
 * Whether a JSON text stops before its end. A transport that keeps its own word (the declared length, a last chunk) can
 * still carry half an answer: only the text tells. Brackets and strings are followed, nothing is parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);

/** @returns false for a text that is no object or list: about its end nothing can be said. */
export function isCutShort(body: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) {
      at = stringEnd(body, at);
      if (at < 0) return depth > 0;
    } else if (OPEN.has(byte)) depth += 1;
    else if (CLOSE.has(byte)) depth -= 1;
  }
  return depth > 0;
}

/** @returns where the string that begins at `start` has its last quote; −1 if it has none. */
function stringEnd(body: Uint8Array, start: number): number {
  for (let at = body.indexOf(QUOTE, start + 1); at >= 0; at = body.indexOf(QUOTE, at + 1)) {
    let escapes = at;
    while (body[escapes - 1] === BACKSLASH) escapes -= 1;
    // An odd number of backslashes makes the quote part of the string.
    if ((at - escapes) % 2 === 0) return at;
  }
  return -1;
}
