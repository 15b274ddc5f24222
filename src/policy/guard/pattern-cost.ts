/**
 * Whether a regular expression can be tried on any text without a limit of time. One that backtracks can take years on forty
 * characters, and nothing in JavaScript stops it from within; so only those run free whose worst case is plainly small.
 */

/** Ways to match from one position; each is a few nanoseconds. */
const WAYS_MAX = 10_000;

const UNBOUNDED = /[*+]|\{\d+,\}/;
const RANGES = /\{(\d+),(\d+)\}|\?/g;
const REPEATED_GROUP = /\)(?:\{(\d+)(?:,(\d+))?\})/g;

/** Errs on the side of no: a quoted `+` or one in a class counts as a repetition. */
export function isSurelyCheap(pattern: string): boolean {
  if (UNBOUNDED.test(pattern) || /\\[1-9k]/.test(pattern)) return false;
  let ways = pattern.split("|").length;
  for (const [, least = "0", most = "1"] of pattern.matchAll(RANGES)) {
    ways *= Number(most) - Number(least) + 1;
  }
  let repeats = 1;
  for (const [, least, most = least] of pattern.matchAll(REPEATED_GROUP)) repeats *= Number(most);
  return ways ** repeats <= WAYS_MAX;
}
