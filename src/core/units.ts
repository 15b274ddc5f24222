/**
 * Units. Time inside Manx is an integer number of microseconds (exact to 2^53 µs, about 285 years); milliseconds exist
 * only at the edges. Texts from people carry their unit, always: a bare number is refused.
 */
import { ManxError } from "./manx-error.ts";

export const US_PER_MS = 1_000;
export const US_PER_S = 1_000_000;

const DURATION_UNITS_US: Readonly<Record<string, number>> = {
  us: 1,
  µs: 1,
  ms: US_PER_MS,
  s: US_PER_S,
  m: 60 * US_PER_S,
  min: 60 * US_PER_S,
  h: 3_600 * US_PER_S,
};

const NUMBER = String.raw`(\d+(?:\.\d+)?|\.\d+)`;
const DURATION = new RegExp(`^${NUMBER}\\s*([a-zµ]+)$`, "i");
const RATE = new RegExp(`^${NUMBER}\\s*/\\s*(s|m|min|h)$`, "i");

/**
 * @param text such as `800ms`, `2s`, `1.5m`, `1h`; zero is allowed, negative is not.
 * @param where the flag or field, for the error.
 * @returns whole microseconds.
 * @throws MANX_DURATION
 */
export function parseDurationUs(text: string, where: string): number {
  const match = DURATION.exec(text.trim());
  const unitUs = match === null ? undefined : DURATION_UNITS_US[match[2]!.toLowerCase()];
  const valueUs =
    match === null || unitUs === undefined ? Number.NaN : Math.round(Number(match[1]) * unitUs);
  if (!Number.isSafeInteger(valueUs)) {
    throw new ManxError("MANX_DURATION", {
      where,
      expected: 'a duration such as "800ms", "2s" or "5m"',
      got: JSON.stringify(text),
    });
  }
  return valueUs;
}

/**
 * @param text such as `20/s`, `0.5/s`, `90/m`.
 * @returns events per second, greater than 0.
 * @throws MANX_RATE
 */
export function parseRatePerS(text: string, where: string): number {
  const match = RATE.exec(text.trim());
  const unitUs = match === null ? Number.NaN : DURATION_UNITS_US[match[2]!.toLowerCase()]!;
  const perS = match === null ? Number.NaN : (Number(match[1]) * US_PER_S) / unitUs;
  if (!Number.isFinite(perS) || perS <= 0) {
    throw new ManxError("MANX_RATE", {
      where,
      expected: 'a rate above zero such as "20/s" or "90/m"',
      got: JSON.stringify(text),
    });
  }
  return perS;
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

const SIZE = new RegExp(`^${NUMBER}\\s*(b|kib|mib|gib)$`, "i");

/**
 * @param text such as `32MiB`, `512KiB`, `100B`.
 * @param gibMax default 1, above which no API takes a body.
 * @returns whole bytes, from 1.
 * @throws MANX_FLAG_VALUE
 */
export function parseSizeBytes(text: string, where: string, gibMax = 1): number {
  const match = SIZE.exec(text.trim());
  const bytes =
    match === null ? 0 : Math.round(Number(match[1]) * SIZE_UNITS[match[2]!.toLowerCase()]!);
  if (bytes > 0 && bytes <= gibMax * 2 ** 30) return bytes;
  throw new ManxError("MANX_FLAG_VALUE", {
    where,
    expected: `a size up to ${gibMax} GiB with its unit, such as "32MiB" or "512KiB"`,
    got: JSON.stringify(text),
  });
}

/** `850 µs`, `12.3 ms`, `1.23 s`, `2 min 05 s`: three significant digits, so that columns can be compared by eye. */
export function formatUs(us: number): string {
  if (!Number.isFinite(us)) return "–";
  const size = Math.abs(us);
  if (size < 1_000) return `${Math.round(us)} µs`;
  if (size < 999_500) return `${digits(us / US_PER_MS)} ms`;
  if (size < 120 * US_PER_S) return `${digits(us / US_PER_S)} s`;
  const wholeS = Math.round(size / US_PER_S);
  const seconds = String(wholeS % 60).padStart(2, "0");
  return `${us < 0 ? "-" : ""}${Math.floor(wholeS / 60)} min ${seconds} s`;
}

/** The shortest text that `parseDurationUs` reads back exactly: `2s`, `1500ms`, `7us`. */
export function durationText(us: number): string {
  if (us % US_PER_S === 0) return `${us / US_PER_S}s`;
  return us % US_PER_MS === 0 ? `${us / US_PER_MS}ms` : `${us}us`;
}

/** The shortest text that `parseSizeBytes` reads back exactly: `32MiB`, `1500B`. */
export function sizeText(bytes: number): string {
  const unit = [2 ** 30, 2 ** 20, 2 ** 10].find((one) => bytes % one === 0) ?? 1;
  const names: Readonly<Record<number, string>> = { 1: "B", 1024: "KiB", 1048576: "MiB" };
  return `${bytes / unit}${names[unit] ?? "GiB"}`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return value.toFixed(0);
  return size >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}
