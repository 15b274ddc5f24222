/** Values of flags that more than one command has: read once, refused in the same words everywhere. */
import { ManxError } from "../core/index.ts";

/** @throws MANX_FLAG_VALUE */
export function parseCount(text: string, where: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw refused(where, `a whole number from ${least} to ${most}`, text);
}

/** A number, with or without the sign of a factor: `10`, `2.5x`. @throws MANX_FLAG_VALUE */
export function parseFactor(text: string, where: string, least: number, most: number): number {
  const value = /^(\d+\.?\d*|\.\d+)x?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw refused(where, `a factor from ${least} to ${most}, such as "2x"`, text);
}

/** @throws MANX_FLAG_VALUE */
export function parseSeed(text: string): number {
  return parseCount(text, "--seed", 0, Number.MAX_SAFE_INTEGER);
}

/** @throws MANX_FLAG_MISSING if it was not given. */
export function needed(value: string | undefined, where: string, expected: string): string {
  if (value !== undefined) return value;
  throw new ManxError("MANX_FLAG_MISSING", { where, expected });
}

function refused(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_FLAG_VALUE", { where, expected, got: JSON.stringify(got) });
}
