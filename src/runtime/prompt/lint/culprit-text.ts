/**
 * What broke a prefix, short enough for a table. Prompts hold what people said and what nobody else should read, so by default
 * a culprit is shown by its shape alone: digits as 0, letters as x. Names of tools and of keys in their schemas are shown.
 */

const SHOWN_MAX = 60;
const SECRET =
  /\b(?:sk|pk|rk|ghp|gho|xox[abp]|AKIA|AIza)[-_A-Za-z0-9]{12,}|\bBearer\s+\S+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|((?:api[-_]?key|token|secret|password|passwd)["']?\s*[:=]\s*["']?)[^\s"',}]+/gi;

export interface Culprit {
  readonly before: string;
  readonly after: string;
}

/** @param at characters into both where they differ. */
export function shapeOf({ before, after }: Culprit, at: number): string {
  return `${shape(spanAt(before, at))} → ${shape(spanAt(after, at))}`;
}

export function shownText({ before, after }: Culprit, at: number): string {
  const from = Math.max(0, at - SHOWN_MAX / 3);
  const cut = (text: string): string => {
    const span = text.replace(SECRET, "$1[secret]").slice(from, from + SHOWN_MAX);
    return JSON.stringify(
      `${from > 0 ? "…" : ""}${span}${text.length > from + SHOWN_MAX ? "…" : ""}`,
    );
  };
  return `${cut(before)} → ${cut(after)}`;
}

/** What has no shape worth showing is counted. */
export function countOf(text: string): string {
  return `${text.length} characters`;
}

/** The word, time or id that stands there. */
function spanAt(text: string, at: number): string {
  const isWord = (place: number): boolean => /[\w:.+-]/.test(text[place] ?? "");
  let from = at;
  while (from > 0 && at - from < SHOWN_MAX && isWord(from - 1)) from -= 1;
  let end = at;
  while (end < text.length && end - at < SHOWN_MAX && isWord(end)) end += 1;
  return text.slice(from, end).replace(/[.:-]+$/, "");
}

function shape(text: string): string {
  // The T and Z of a time stay, so that it is seen to be one; no other letter does.
  return text
    .replace(/\d/g, "0")
    .replace(/(0[TZ](?![a-z]))|\p{L}/giu, (_, ofTime?: string) => ofTime ?? "x");
}
