/** Text that is new each time: times and ids. They are found where two texts differ, so that a number in prose is none. */

export interface Volatile {
  readonly cause: "time_stamp" | "random_id";
  /** Where it begins, in characters of the second text. */
  readonly at: number;
}

/** Long enough for any of the forms below on either side of the difference. */
const REACH = 64;

const TIMES =
  /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?|\b1\d{9}(?:\d{3})?\b|\d{1,2}[./]\d{1,2}[./]\d{2,4}/gi;
const IDS =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{16,64}\b|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,64}\b/gi;

/** @returns what stands in both texts where they first differ, or null if it is neither a time nor an id. */
export function volatileAt(before: string, after: string): Volatile | null {
  const end = Math.min(before.length, after.length);
  let at = 0;
  while (at < end && before.charCodeAt(at) === after.charCodeAt(at)) at += 1;
  const [old, now] = [around(before, at), around(after, at)];
  // Ids first: the digits within one may look like a time.
  for (const [cause, form] of [
    ["random_id", IDS],
    ["time_stamp", TIMES],
  ] as const) {
    const found = spanAt(now.text, at - now.from, form);
    if (found === null || spanAt(old.text, at - old.from, form) === null) continue;
    return { cause, at: now.from + found };
  }
  return null;
}

function around(text: string, at: number): { readonly text: string; readonly from: number } {
  const from = Math.max(0, at - REACH);
  return { text: text.slice(from, at + REACH), from };
}

/** @returns where the match begins that `at` lies within or at the end of. */
function spanAt(text: string, at: number, form: RegExp): number | null {
  for (const { index, 0: match } of text.matchAll(form)) {
    if (index <= at && at <= index + match.length) return index;
  }
  return null;
}
