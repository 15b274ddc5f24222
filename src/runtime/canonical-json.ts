/**
 * One text per value: keys sorted, no blanks. Two results that say the same are the same bytes, whatever order a back end
 * or a race gave them, so that the next request repeats its prefix.
 */

/** @throws TypeError for cycles and big integers, as `JSON.stringify`. @returns undefined for what JSON cannot say. */
export function canonicalJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, one: unknown) => (isPlain(one) ? sorted(one) : one));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(record).sort()) {
    Object.defineProperty(copy, key, { value: record[key], enumerable: true });
  }
  return copy;
}
