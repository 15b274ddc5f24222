/**
 * Arrival processes: the intended starts of an open-loop run. Each is a renewal process with independent gaps from its own
 * random stream; a Poisson one is never rescaled to end at an exact instant or to hold an exact count, which would take
 * away the very fluctuation that it is there for.
 */
import { Random } from "../clock/index.ts";
import { assert, lookUp, US_PER_S } from "../core/index.ts";

export type ArrivalProcess = "constant" | "poisson" | "gamma";

export interface ArrivalOptions {
  readonly process: ArrivalProcess;
  /** Mean arrivals per second, above 0. */
  readonly ratePerS: number;
  /** Gamma only: coefficient of variation of the gaps, above 0; 1 is Poisson, 3 is bursty. Default 3. */
  readonly cv?: number;
  /** Arrivals lie in [0, durationUs). */
  readonly durationUs: number;
  readonly seed: number;
}

type Gaps = (options: ArrivalOptions, meanUs: number) => () => number;

const GAPS: Readonly<Record<ArrivalProcess, Gaps>> = {
  constant: (_, meanUs) => () => meanUs,
  poisson: ({ seed }, meanUs) => {
    const random = new Random(seed, "arrivals");
    return () => random.exponential(meanUs);
  },
  gamma: ({ seed, cv = GAMMA_CV }, meanUs) => {
    const random = new Random(seed, "arrivals");
    return () => random.gamma(1 / (cv * cv), meanUs);
  },
};

const GAMMA_CV = 3;

/** @returns intended starts in whole microseconds from 0, ascending; made one by one, so a long run costs no memory. */
export function* arrivalTimes(options: ArrivalOptions): Generator<number> {
  const { ratePerS, durationUs, cv = GAMMA_CV } = options;
  assert(ratePerS > 0 && durationUs > 0 && cv > 0, "arrivals have a rate, a duration and a CV");
  const nextGapUs = lookUp(GAPS, options.process, "arrival process")(options, US_PER_S / ratePerS);
  // A constant rate begins at once; a random one with its first gap. Whole sums are kept exact and rounded on the way out.
  let atUs = options.process === "constant" ? 0 : nextGapUs();
  for (let k = 1; atUs < durationUs; k += 1) {
    yield Math.floor(atUs);
    atUs = options.process === "constant" ? (k * US_PER_S) / ratePerS : atUs + nextGapUs();
  }
}

/** As the conditions of a result have it, such as `gamma, CV 3, 20/s`. */
export function describeArrivals(options: ArrivalOptions): string {
  const cv = options.process === "gamma" ? `, CV ${options.cv ?? GAMMA_CV}` : "";
  return `${options.process}${cv}, ${Number(options.ratePerS.toPrecision(6))}/s`;
}
