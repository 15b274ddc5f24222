/** Where a text may be cut: never within what a person sees as one character. */

const SEGMENTER =
  typeof Intl !== "undefined" && "Segmenter" in Intl
    ? new Intl.Segmenter(undefined, { granularity: "grapheme" })
    : undefined;

/** A cluster is looked for in this much text around the place; a longer one is cut at a whole code point. */
const NEAR = 128;

/**
 * @param most UTF-16 units, from 1.
 * @returns the largest place up to `most` at which the text may be cut; behind its first character if that is longer;
 *   its length if it cannot be cut.
 */
export function cutPlace(text: string, most: number): number {
  if (most >= text.length) return text.length;
  const at = Math.max(1, Math.floor(most));
  // Between two plain letters there is always one, which spares the search.
  if (isPlain(text.charCodeAt(at - 1)) && isPlain(text.charCodeAt(at))) return at;
  if (SEGMENTER === undefined) return wholePoint(text, at);
  const from = wholeFrom(text, Math.max(0, at - NEAR));
  const near = text.slice(from, at + NEAR);
  const segments = SEGMENTER.segment(near);
  const here = segments.containing(at - from)!;
  if (here.index > 0) return from + here.index;
  // It begins where the search does: at the beginning of the text, or too far back.
  return from === 0 ? Math.min(here.segment.length, text.length) : wholePoint(text, at);
}

function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit < 0x7f;
}

/** @returns `at`, or one more if that is within a surrogate pair. */
function wholePoint(text: string, at: number): number {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at + 1 : at;
}

function wholeFrom(text: string, at: number): number {
  return at > 0 && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
