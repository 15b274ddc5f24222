/** The field in which two versions of one part differ first, down to the character. */
import type { LayoutPart } from "../../../policy/index.ts";
import type { JsonPath } from "./json-place.ts";

export interface FieldDifference {
  /** Within the part; empty if the part itself is what differs. */
  readonly path: JsonPath;
  /** Characters into the field, if both are texts. */
  readonly at: number;
  readonly before: unknown;
  readonly after: unknown;
}

const DEPTH_MAX = 64;

/** @returns null if one of the two was not kept. */
export function fieldDifference(one: LayoutPart, other: LayoutPart): FieldDifference | null {
  if (one.text === null || other.text === null) return null;
  const [before, after] = [parsedPart(one.text), parsedPart(other.text)];
  const isBoth = typeof before === "object" && typeof after === "object";
  if (!isBoth)
    return { path: [], at: sharedChars(one.text, other.text), before: one.text, after: other.text };
  return differenceIn(before, after, []) ?? { path: [], at: 0, before, after };
}

/** A part is the text itself, or JSON. */
function parsedPart(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function differenceIn(before: unknown, after: unknown, path: JsonPath): FieldDifference | null {
  if (before === after) return null;
  if (typeof before === "string" && typeof after === "string") {
    return { path, at: sharedChars(before, after), before, after };
  }
  const [old, now] = [entriesOf(before), entriesOf(after)];
  if (old === null || now === null || path.length >= DEPTH_MAX) {
    return { path, at: 0, before, after };
  }
  for (const [at, [key, value]] of now.entries()) {
    const pair = old[at];
    if (pair === undefined || pair[0] !== key) {
      return { path: [...path, key], at: 0, before: pair?.[0], after: key };
    }
    const found = differenceIn(pair[1], value, [...path, key]);
    if (found !== null) return found;
  }
  const gone = old[now.length];
  return gone === undefined ? null : { path, at: 0, before: gone[0], after: undefined };
}

function entriesOf(value: unknown): (readonly [string | number, unknown])[] | null {
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? value.map((one, at) => [at, one]) : Object.entries(value);
}

export function sharedChars(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}
