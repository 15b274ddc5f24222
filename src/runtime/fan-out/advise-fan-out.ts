/**
 * Whether to fan out at all, from recorded requests. A parent waits for its slowest child, so what is rare per branch is
 * routine for the whole: 1 − 0.99⁵ = 4.9 %. The median nearly always falls and says nothing; the verdict is about the
 * guarded percentile, with merging and waiting included, and with an interval (bootstrap, Efron 1979: whole rows are
 * drawn, which keeps the branches of a request together). What independent branches would do is shown beside it.
 *
 * The same samples, options and seed give the same advice.
 */
import { Random } from "../../clock/index.ts";
import { assert, formatUs } from "../../core/index.ts";
import { isTrusted, type Quantile, quantileRank, sampleQuantile } from "../../stats/index.ts";
import { type FanOutSamples, readRows, readTimes } from "./fan-out-samples.ts";
import { findStraggler, type Straggler } from "./straggler-cause.ts";

export interface FanOutAdviceOptions {
  /** The percentile that must not get worse, 0.5 to 0.999. Default 0.99. */
  readonly guard?: number;
  /** Most tokens as a multiple of those without fan-out. Default: no limit. */
  readonly tokensRatioMax?: number;
  /** Default 1. */
  readonly seed?: number;
}

/** Time saved: without fan-out minus with it, µs; negative if it got worse. 95 % interval. */
export interface Saving {
  readonly q: number;
  readonly us: number;
  readonly lowUs: number;
  readonly highUs: number;
}

export interface FanOutAdvice {
  readonly verdict: "accept" | "reject" | "undecided";
  /** One sentence each, the deciding one first. */
  readonly reasons: readonly string[];
  readonly comparedWith: "before" | "serial";
  /** At the median, the 95th and the guarded percentile, each with its n. */
  readonly fanOut: readonly Quantile[];
  readonly without: readonly Quantile[];
  readonly savings: readonly Saving[];
  /**
   * Guarded percentile if the branches had nothing to do with each other. Above the real one they are slow together, so
   * that more branches cost less than independence says, and hedging helps less.
   */
  readonly independentUs: number;
  /** Guarded percentile if the slowest branch of each request were left out; null for a single branch. */
  readonly withoutLastUs: number | null;
  readonly straggler: Straggler | null;
  /** Null if they were not given. */
  readonly tokensRatio: number | null;
  readonly rowsSetAside: number;
  readonly rowsLeftOut: number;
}

const REPLICATES = 400;

export function adviseFanOut(
  samples: FanOutSamples,
  options: FanOutAdviceOptions = {},
): FanOutAdvice {
  const { guard = 0.99, seed = 1 } = options;
  assert(guard >= 0.5 && guard <= 0.999, "the guarded percentile is 0.5 to 0.999");
  const { rows, setAside, leftOut } = readRows(samples);
  const random = new Random(seed, "fan-out advice");
  const times = rows.map(({ samples: own }) => own.map(({ us }) => us));
  const fanOut = rows.map(({ mergeUs }, i) => Math.max(0, ...times[i]!) + mergeUs);
  const serial = times.map((own) => own.reduce((sum, us) => sum + us, 0));
  const isSerial = samples.before === undefined;
  const without = isSerial ? serial : readTimes(samples.before);
  const quantiles = [...new Set([0.5, 0.95, guard])].sort((a, b) => a - b);
  const of = (all: readonly number[]): Quantile[] => {
    const sorted = Float64Array.from(all).sort();
    return quantiles.map((q) => sampleQuantile(sorted, q));
  };
  const facts = {
    comparedWith: isSerial ? ("serial" as const) : ("before" as const),
    fanOut: of(fanOut),
    without: of(without),
    savings: savings(fanOut, without, isSerial, quantiles, random),
    independentUs: independent(
      times,
      rows.map(({ mergeUs }) => mergeUs),
      guard,
      random,
    ),
    withoutLastUs: withoutLast(
      times,
      rows.map(({ mergeUs }) => mergeUs),
      guard,
    ),
    straggler: findStraggler(samples.branches, rows, fanOut, guard),
    tokensRatio:
      samples.tokens === undefined ? null : samples.tokens.fanOut / samples.tokens.before,
    rowsSetAside: setAside,
    rowsLeftOut: leftOut,
  };
  return { ...judge(facts, guard, options.tokensRatioMax ?? Number.POSITIVE_INFINITY), ...facts };
}

type Facts = Omit<FanOutAdvice, "verdict" | "reasons">;

function judge(
  facts: Facts,
  guard: number,
  tokensRatioMax: number,
): Pick<FanOutAdvice, "verdict" | "reasons"> {
  const at = facts.savings.findIndex(({ q }) => q === guard);
  const [fanOut, without, saving] = [facts.fanOut[at]!, facts.without[at]!, facts.savings[at]!];
  const [medianSaving] = facts.savings;
  const name = `p${Number((guard * 100).toFixed(1))}`;
  const reasons: string[] = [];
  const sizes = `n = ${fanOut.n} with, ${without.n} without`;
  if (!isTrusted(fanOut) || !isTrusted(without)) {
    const need = Math.ceil(10 / (1 - guard));
    return {
      verdict: "undecided",
      reasons: [`too few requests for a ${name} (${sizes}); take at least ${need} of each`],
    };
  }
  const change = `${formatUs(without.value)} → ${formatUs(fanOut.value)}`;
  const range = `saves ${formatUs(saving.lowUs)} to ${formatUs(saving.highUs)}, ${sizes}`;
  let verdict: FanOutAdvice["verdict"] = "undecided";
  if (saving.highUs < 0) {
    verdict = "reject";
    reasons.push(`${name} gets worse: ${change} (${range})`);
  } else if (saving.lowUs > 0) {
    verdict = "accept";
    reasons.push(`${name} gets better: ${change} (${range})`);
  } else reasons.push(`${name} may have changed either way: ${change} (${range})`);
  if (facts.tokensRatio !== null && facts.tokensRatio > tokensRatioMax) {
    verdict = "reject";
    reasons.unshift(
      `it takes ${facts.tokensRatio.toFixed(1)}× the tokens, at most ${tokensRatioMax}× are allowed`,
    );
  }
  const medians = [facts.without[0]!, facts.fanOut[0]!].map(({ value }) => formatUs(value));
  const hides = verdict === "reject" && medianSaving!.us > 0 ? ", which hides it" : "";
  reasons.push(`p50: ${medians.join(" → ")}${hides}`);
  if (facts.straggler !== null) reasons.push(stragglerText(facts.straggler));
  return { verdict, reasons };
}

function stragglerText({ branch, share, gapUs, part, partShare, n }: Straggler): string {
  const who = `${branch} comes last in ${Math.round(share * 100)} % of the slowest ${n}`;
  const gap = `the last is ${formatUs(gapUs)} behind the one before`;
  const cause =
    part === null ? "" : `; ${Math.round(partShare * 100)} % of the lost time is ${part}`;
  return `${who}; ${gap}${cause}`;
}

/** Rows are drawn with all they hold; what was recorded apart is drawn apart. */
function savings(
  fanOut: readonly number[],
  without: readonly number[],
  isPaired: boolean,
  quantiles: readonly number[],
  random: Random,
): Saving[] {
  const differences = quantiles.map(() => new Float64Array(REPLICATES));
  const [a, b] = [new Float64Array(fanOut.length), new Float64Array(without.length)];
  if (a.length === 0 || b.length === 0) {
    return quantiles.map((q) => ({ q, us: Number.NaN, lowUs: Number.NaN, highUs: Number.NaN }));
  }
  for (let replicate = 0; replicate < REPLICATES; replicate += 1) {
    for (let i = 0; i < a.length; i += 1) {
      const row = random.int(a.length);
      a[i] = fanOut[row]!;
      if (isPaired) b[i] = without[row]!;
    }
    if (!isPaired) for (let i = 0; i < b.length; i += 1) b[i] = without[random.int(b.length)]!;
    a.sort();
    b.sort();
    for (const [at, q] of quantiles.entries()) {
      differences[at]![replicate] = atQuantile(b, q) - atQuantile(a, q);
    }
  }
  const [sortedA, sortedB] = [Float64Array.from(fanOut).sort(), Float64Array.from(without).sort()];
  return quantiles.map((q, at) => {
    const sorted = differences[at]!.sort();
    const us = atQuantile(sortedB, q) - atQuantile(sortedA, q);
    return { q, us, lowUs: atQuantile(sorted, 0.025), highUs: atQuantile(sorted, 0.975) };
  });
}

/** Each branch is drawn for itself. */
function independent(
  times: readonly (readonly number[])[],
  mergeUs: readonly number[],
  guard: number,
  random: Random,
): number {
  const n = times.length;
  const totals = Float64Array.from({ length: n }, () => {
    let slowest = 0;
    for (let branch = 0; branch < times[0]!.length; branch += 1) {
      slowest = Math.max(slowest, times[random.int(n)]![branch]!);
    }
    return slowest + mergeUs[random.int(n)]!;
  });
  return n === 0 ? Number.NaN : atQuantile(totals.sort(), guard);
}

function withoutLast(
  times: readonly (readonly number[])[],
  mergeUs: readonly number[],
  guard: number,
): number | null {
  if (times.length === 0 || times[0]!.length < 2) return null;
  const totals = times.map((own, i) => [...own].sort((a, b) => b - a)[1]! + mergeUs[i]!);
  return atQuantile(Float64Array.from(totals).sort(), guard);
}

function atQuantile(sorted: Float64Array, q: number): number {
  return sorted[quantileRank(q, sorted.length) - 1]!;
}
