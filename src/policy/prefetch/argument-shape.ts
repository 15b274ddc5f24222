/**
 * The arguments of a call without their values: what stays the same from call to call. `{"q": "a", "n": [1, 2]}` has the
 * shape `{"n":[0,0],"q":0}` and the values 1, 2, "a".
 *
 * Law: filling a shape with the values that were taken out gives the arguments again.
 */
import { isScalar, type Scalar } from "./json-pointer.ts";

export interface ShapedArguments {
  /** Canonical JSON with a 0 for each value. */
  readonly shape: string;
  readonly values: readonly Scalar[];
}

/** Calls with more are not learnt. */
const VALUES_MAX = 16;
const SHAPE_CHARS_MAX = 1_024;
const DEPTH_MAX = 6;

/** @returns undefined for what is no JSON, too deep or too large. */
export function shapeOf(args: unknown): ShapedArguments | undefined {
  const values: Scalar[] = [];
  const hollow = emptied(args, 0, values);
  if (hollow === undefined) return undefined;
  const shape = JSON.stringify(hollow);
  return shape.length > SHAPE_CHARS_MAX ? undefined : { shape, values };
}

/** @param shape as `shapeOf` has made it. @param values as many as it has places. */
export function filled(shape: string, values: readonly Scalar[]): unknown {
  let next = 0;
  const fill = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value === "object" && value !== null) return mapped(value, fill);
    next += 1;
    return values[next - 1];
  };
  return fill(JSON.parse(shape));
}

/** How many places a shape has; NaN for a text that is none. */
export function placesOf(shape: string): number {
  try {
    const again = shapeOf(JSON.parse(shape));
    return again?.shape === shape && again.values.every((value) => value === 0)
      ? again.values.length
      : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

function emptied(value: unknown, depth: number, values: Scalar[]): unknown {
  if (isScalar(value)) {
    values.push(value);
    return values.length > VALUES_MAX ? undefined : 0;
  }
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    const all = value.map((one) => emptied(one, depth + 1, values));
    return all.includes(undefined) ? undefined : all;
  }
  let isWhole = true;
  const hollow = mapped(value, (one) => {
    const inner = emptied(one, depth + 1, values);
    if (inner === undefined) isWhole = false;
    return inner;
  });
  return isWhole ? hollow : undefined;
}

/** Keys in order; `__proto__` stays a key. */
function mapped(value: object, map: (one: unknown) => unknown): object {
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, map((value as Record<string, unknown>)[key])]));
}
