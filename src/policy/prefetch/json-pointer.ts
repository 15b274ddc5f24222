/**
 * Places in a JSON value as RFC 6901 names them, and the scalars that stand there. Bounded in breadth and depth, since a
 * tool may answer a megabyte: what lies beyond is not seen.
 */

export type Scalar = string | number | boolean | null;

export interface Leaf {
  /** RFC 6901; "" for the value itself. */
  readonly pointer: string;
  readonly value: Scalar;
}

const LEAVES_MAX = 256;
const DEPTH_MAX = 6;
/** Of one array; patterns point at the first few. */
const ITEMS_MAX = 8;

export function isScalar(value: unknown): value is Scalar {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** In order of the keys, so that equal values have equal leaves. */
export function leavesOf(value: unknown): readonly Leaf[] {
  const leaves: Leaf[] = [];
  walk(value, "", 0, leaves);
  return leaves;
}

function walk(value: unknown, pointer: string, depth: number, leaves: Leaf[]): void {
  if (leaves.length >= LEAVES_MAX) return;
  if (isScalar(value)) leaves.push({ pointer, value });
  else if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return;
  else if (Array.isArray(value)) {
    for (const [i, one] of value.slice(0, ITEMS_MAX).entries()) {
      walk(one, `${pointer}/${i}`, depth + 1, leaves);
    }
  } else {
    for (const key of Object.keys(value).sort()) {
      if (leaves.length >= LEAVES_MAX) return;
      walk(
        (value as Record<string, unknown>)[key],
        `${pointer}/${escaped(key)}`,
        depth + 1,
        leaves,
      );
    }
  }
}

/** @returns undefined where nothing stands, also for what an object only inherits. */
export function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
