/**
 * Nanoseconds of Unix time as exporters really send them: as text, exact; as a JSON number, which steps by 256; as two 32-bit
 * halves; or in milliseconds by mistake (casebook TR-02). Kept as a bigint, since a double cannot hold one.
 */

export interface ReadTime {
  readonly ns: bigint;
  /** The last digits were lost on the way. */
  readonly isImprecise: boolean;
  /** It was in another unit, told by its size. */
  readonly isUnitGuessed: boolean;
}

/** 2000 to 2200, in ns. */
const EARLIEST = 946_684_800_000_000_000n;
const LATEST = 7_258_118_400_000_000_000n;
/** µs, ms and s to ns: the ranges of the four units do not meet between 2000 and 2200. */
const FACTORS = [1n, 1_000n, 1_000_000n, 1_000_000_000n] as const;

/** @returns undefined for what is no instant between 2000 and 2200 in any unit. */
export function readTime(value: unknown): ReadTime | undefined {
  const whole = wholeNumber(value);
  if (whole === undefined) return undefined;
  for (const factor of FACTORS) {
    const ns = whole.value * factor;
    if (ns < EARLIEST || ns > LATEST) continue;
    return { ns, isImprecise: whole.isImprecise, isUnitGuessed: factor !== 1n };
  }
  return undefined;
}

function wholeNumber(value: unknown): { value: bigint; isImprecise: boolean } | undefined {
  if (typeof value === "string") {
    return /^\d{1,20}$/.test(value) ? { value: BigInt(value), isImprecise: false } : undefined;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value) || value < 0) return undefined;
    return { value: BigInt(Math.round(value)), isImprecise: !Number.isSafeInteger(value) };
  }
  const { low, high } = (value ?? {}) as { low?: unknown; high?: unknown };
  if (!Number.isInteger(low) || !Number.isInteger(high)) return undefined;
  const halves = [BigInt((high as number) >>> 0), BigInt((low as number) >>> 0)] as const;
  return { value: (halves[0] << 32n) | halves[1], isImprecise: false };
}

/** Unix µs as the text of its ns: exact, where a product in doubles is off by up to 256 ns. */
export function nsText(unixUs: number): string {
  return (BigInt(unixUs) * 1_000n).toString();
}
