/**
 * What an upstream says about when to come back, in all the forms that providers use (casebook GW-07):
 *
 *     retry-after-ms: 350            milliseconds; before the others, since it is the finest
 *     retry-after: 2                 seconds, also with a fraction
 *     retry-after: Thu, 01 Jan …     an HTTP date
 *     anthropic-ratelimit-requests-remaining: 0 with …-reset: 2026-01-01T00:00:04Z
 *
 * Whatever cannot be one of them says nothing: digits never reach `Date.parse`, which reads "3600" as a year.
 */
const US_PER_MS = 1_000;
const NUMBER = /^\d+(?:\.\d+)?$/;
/** RFC 9110, 5.6.7: the preferred form, and the two obsolete ones that a recipient must accept. All begin with a weekday. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;
const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
/** What a limit of Anthropic's may count. */
const LIMITED = ["requests", "tokens", "input-tokens", "output-tokens"];
/** Nobody means more than a day; what is larger would overflow a timer. */
const WAIT_US_MAX = 24 * 3_600 * 1_000_000;

/** @returns the header's value, or undefined; asked with names in lower case. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * @param wallMs Unix time, to compare dates with.
 * @returns the wait in µs, 0 to one day, or undefined where the headers say nothing that can be used.
 */
export function readRetryAfterUs(header: HeaderReader, wallMs: number): number | undefined {
  const ms = header("retry-after-ms")?.trim();
  if (ms !== undefined && NUMBER.test(ms)) return bounded(Number(ms) * US_PER_MS);
  const after = header("retry-after")?.trim();
  if (after !== undefined) {
    if (NUMBER.test(after)) return bounded(Number(after) * 1_000 * US_PER_MS);
    if (HTTP_DATE.test(after)) return untilUs(after, wallMs);
  }
  return readResetUs(header, wallMs);
}

/** The latest reset among the limits that are used up: before it, a call would only be refused again. */
function readResetUs(header: HeaderReader, wallMs: number): number | undefined {
  let latest: number | undefined;
  for (const what of LIMITED) {
    if (header(`anthropic-ratelimit-${what}-remaining`)?.trim() !== "0") continue;
    const reset = header(`anthropic-ratelimit-${what}-reset`)?.trim() ?? "";
    const waitUs = ISO_INSTANT.test(reset) ? untilUs(reset, wallMs) : undefined;
    if (waitUs !== undefined && waitUs > (latest ?? 0)) latest = waitUs;
  }
  return latest;
}

/** A past date is a clock that is wrong or an answer that was cached; it says nothing. */
function untilUs(date: string, wallMs: number): number | undefined {
  const waitMs = Date.parse(date) - wallMs;
  return waitMs >= 0 ? bounded(waitMs * US_PER_MS) : undefined;
}

function bounded(waitUs: number): number {
  return Math.min(Math.ceil(waitUs), WAIT_US_MAX);
}
