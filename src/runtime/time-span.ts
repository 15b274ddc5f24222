/** Durations as users of the runtime give them: text with its unit, or whole microseconds. */
import { ManxError, parseDurationUs } from "../core/index.ts";

/** `"800ms"`, `"2s"`, or whole microseconds. */
export type TimeSpan = string | number;

/** @throws MANX_DURATION */
export function spanUs(span: TimeSpan, where: string): number {
  if (typeof span === "string") return parseDurationUs(span, where);
  if (Number.isSafeInteger(span) && span >= 0) return span;
  throw new ManxError("MANX_DURATION", {
    where,
    expected: 'a duration such as "800ms", or whole microseconds from 0',
    got: String(span),
  });
}
