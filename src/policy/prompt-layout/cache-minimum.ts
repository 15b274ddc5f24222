/**
 * How long a prefix must be for Anthropic to keep it. Shorter ones are not kept, and nobody is told (casebook RT-14). Data
 * with a date, since it changes with every generation of models and no API tells it; where pages disagree, the larger
 * figure, since a mark that works is worth more than one that might.
 */
export interface CacheMinimum {
  readonly tokens: number;
  /** When it was looked up. */
  readonly asOf: string;
}

const AS_OF = "2026-10";

/** By a part of the model's name, as the API and the clouds write it; the first that matches counts. */
const MINIMUMS: readonly (readonly [name: RegExp, tokens: number])[] = [
  [/(?:opus|fable|mythos)-5\b/, 512],
  [/sonnet-5\b/, 1_024],
  [/haiku-4-5\b/, 4_096],
  [/opus-4-[567]\b/, 4_096],
  [/sonnet-4-6\b/, 2_048],
  [/opus-4-8\b/, 1_024],
  [/(?:opus|sonnet)-4(?:-[0145])?(?=-\d{8}|@|:|$)/, 1_024],
  [/3(?:-5)?-haiku/, 2_048],
  [/3(?:-[57])?-(?:sonnet|opus)/, 1_024],
];

/** @returns null for a model that is not known. */
export function cacheMinimum(model: string): CacheMinimum | null {
  // `claude-sonnet-4.5` is a router's way of writing it.
  const name = model.toLowerCase().replaceAll(".", "-");
  const known = MINIMUMS.find(([form]) => form.test(name));
  return known === undefined ? null : { tokens: known[1], asOf: AS_OF };
}

/** Whether a mark can work: an estimate this close to the limit is settled by the provider's own count alone. */
export type MarkOutlook = "works" | "too_short" | "uncertain" | "unknown";
const UNCERTAIN_SHARE = 0.1;

/**
 * @param tokens of the prefix up to the mark, by estimate.
 * @param minimum null if it is not known.
 */
export function markOutlook(tokens: number, minimum: number | null): MarkOutlook {
  if (minimum === null) return "unknown";
  if (Math.abs(tokens - minimum) <= minimum * UNCERTAIN_SHARE) return "uncertain";
  return tokens > minimum ? "works" : "too_short";
}
