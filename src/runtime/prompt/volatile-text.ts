/**
 * Text that is new each time, told from one text alone: what in a static part breaks every cache behind it. A date in prose is
 * none; one that says what time it is now is. `divergenceOf` is surer, since it sees two texts, but it needs the second request.
 */

export interface VolatileText {
  readonly cause: "time_stamp" | "random_id";
  /** Characters from the beginning. */
  readonly at: number;
  readonly chars: number;
}

const NOW_BEFORE =
  /\b(?:now|today|current|currently|date|time|as of|updated|generated)\b[^\n]{0,24}$/i;
const DATE = /\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2}:\d{2}(?::\d{2})?/g;
/** A date with its time of day, or seconds or milliseconds since 1970 of about these years. */
const INSTANT =
  /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?|\b1[6-9]\d{8}(?:\d{3})?\b/g;
const ID =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,64}\b|\b(?:req|request|session|sess|trace|run|call|msg|conv|thread|chatcmpl|toolu|resp)[_-](?=\w*\d)\w{8,64}/g;
/** Beyond it a text is a corpus, and what is found in it no instruction. */
const FOUND_MAX = 16;

/** @returns what was found, in order, the first `FOUND_MAX`. */
export function volatileTexts(text: string): VolatileText[] {
  const found: VolatileText[] = [
    ...matches(text, ID, "random_id"),
    ...matches(text, INSTANT, "time_stamp"),
    ...matches(text, DATE, "time_stamp").filter(({ at }) =>
      NOW_BEFORE.test(text.slice(Math.max(0, at - 48), at)),
    ),
  ].sort((a, b) => a.at - b.at || b.chars - a.chars);
  let end = 0;
  const apart = found.filter(({ at, chars }) => {
    if (at < end) return false;
    end = at + chars;
    return true;
  });
  return apart.slice(0, FOUND_MAX);
}

function matches(text: string, form: RegExp, cause: VolatileText["cause"]): VolatileText[] {
  return [...text.matchAll(form)].map(({ index, 0: match }) => ({
    cause,
    at: index,
    chars: match.length,
  }));
}
