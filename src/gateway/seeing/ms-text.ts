/**
 * Microseconds as the text of milliseconds. Times are whole microseconds, so their text is two whole numbers and a point:
 * looked up, that is a quarter of the time that the shortest decimal of a double takes, and half of `toFixed`'s. A line of
 * the access log has a dozen of them.
 *
 * Invariant: the same text as `JSON.stringify(us / 1_000)` and `(us / 1_000).toFixed(3)` for every number.
 */
import { US_PER_MS } from "../../core/index.ts";

/** Up to here a double has the 15 digits to say which whole microsecond it is; 31 years. */
const EXACT_US = 1e15;
const BELOW_MS = Array.from({ length: US_PER_MS }, (_, us) => us / US_PER_MS);
/** "", ".001" … ".01" … ".999". */
const SHORTEST = BELOW_MS.map((ms) => String(ms).slice(1));
/** ".000" … ".999". */
const FIXED = BELOW_MS.map((ms) => ms.toFixed(3).slice(1));

/** As JSON has it: the shortest text; `null` for what is no number. */
export function msJson(us: number): string {
  if (!isExact(us)) return JSON.stringify(us / US_PER_MS);
  const ms = Math.floor(us / US_PER_MS);
  return ms + SHORTEST[us - ms * US_PER_MS]!;
}

/** With three digits behind the point. */
export function msFixed(us: number): string {
  if (!isExact(us)) return (us / US_PER_MS).toFixed(3);
  const ms = Math.floor(us / US_PER_MS);
  return ms + FIXED[us - ms * US_PER_MS]!;
}

function isExact(us: number): boolean {
  return Number.isInteger(us) && us >= 0 && us < EXACT_US;
}
