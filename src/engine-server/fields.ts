/**
 * Reads one field of a request body each, or says which field is wrong, what it should be and what came. A field that is
 * null counts as absent, as client libraries send it for options that were not set.
 */
import { ManxError, nearestName } from "../core/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

const SHOWN_CHARS = 60;

/** @param where path of the field, such as `messages[2].content`. */
export function invalid(where: string, expected: string, got: unknown): ManxError {
  const what = `invalid ${where}`;
  return new ManxError("MANX_REQUEST_INVALID", { what, where, expected, got: show(got) });
}

/** For a name that a fixed list does not have: the list, and the nearest one. */
export function unknownName(where: string, names: readonly string[], got: unknown): ManxError {
  const near = typeof got === "string" ? nearestName(got, names) : undefined;
  return new ManxError("MANX_REQUEST_INVALID", {
    what: `invalid ${where}`,
    where,
    expected: `one of ${names.join(", ")}`,
    got: show(got),
    ...(near !== undefined && { hint: `did you mean "${near}"?` }),
  });
}

/** For objects of Manx's own, where a misspelt field would do nothing without a word. */
export function refuseUnknownFields(fields: Fields, names: readonly string[], where: string): void {
  const unknown = Object.keys(fields).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw unknownName(`${where}.${show(unknown).slice(1, -1)}`, names, unknown);
}

/** Enough of a value to recognise it by; never a whole prompt. */
function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

export function optionalObject(fields: Fields, name: string, where = name): Fields | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  return asObject(value, where);
}

export function asObject(value: unknown, where: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalid(where, "an object", value);
}

export function optionalList(
  fields: Fields,
  name: string,
  where = name,
): readonly unknown[] | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined || Array.isArray(value)) return value;
  throw invalid(where, "a list", value);
}

export function optionalText(fields: Fields, name: string, where = name): string | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw invalid(where, "a text", value);
}

export function optionalFlag(fields: Fields, name: string, where = name): boolean {
  const value = fields[name] ?? false;
  if (typeof value === "boolean") return value;
  throw invalid(where, "true or false", value);
}

/** A whole number from `least`. */
export function optionalCount(
  fields: Fields,
  name: string,
  least: number,
  where = name,
): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw invalid(where, `a whole number from ${least}`, value);
}

/** A whole number of either sign. */
export function optionalWhole(fields: Fields, name: string, most: number): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && Math.abs(value as number) <= most) return value as number;
  throw invalid(name, `a whole number from -${most} to ${most}`, value);
}

/** For what a real engine can do and the twin cannot: better refused than answered with something else. */
export function refuseIf(condition: boolean, where: string, expected: string, got: unknown): void {
  if (condition) throw invalid(where, `${expected}; the twin serves no other`, got);
}
