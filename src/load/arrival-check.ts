/**
 * Does the load have the shape that it claims? Counts arrivals in equal windows: the index of dispersion (variance over
 * mean of the counts; Cox and Lewis 1966) is 0 for a constant rate, 1 for Poisson and tends to CV² for a renewal process.
 * Memory is one number however long the run.
 */
import { US_PER_S } from "../core/index.ts";

export class ArrivalCheck {
  readonly #windowUs: number;
  #n = 0;
  #window = 0;
  #inWindow = 0;
  #windows = 0;
  #mean = 0;
  #squares = 0;

  /** @param windowUs several mean gaps long, and a small part of the run. */
  constructor(windowUs: number) {
    this.#windowUs = windowUs;
  }

  get n(): number {
    return this.#n;
  }

  /** @param atUs from the beginning of the run, ascending. */
  add(atUs: number): void {
    this.#closeUntil(Math.floor(atUs / this.#windowUs));
    this.#inWindow += 1;
    this.#n += 1;
  }

  /**
   * @param durationUs of the whole run; the window that it cuts is left out.
   * @returns arrivals per second, and the index of dispersion: null below 20 windows, where it says nothing.
   */
  finish(durationUs: number): { ratePerS: number; dispersion: number | null; windows: number } {
    this.#closeUntil(Math.floor(durationUs / this.#windowUs));
    const windows = this.#windows;
    const known = windows >= WINDOWS_MIN && this.#mean > 0;
    return {
      ratePerS: durationUs > 0 ? (this.#n * US_PER_S) / durationUs : 0,
      dispersion: known ? this.#squares / (windows - 1) / this.#mean : null,
      windows,
    };
  }

  /** Ends every window before `window`, empty ones too. Mean and squares as Welford 1962 has them. */
  #closeUntil(window: number): void {
    for (; this.#window < window; this.#window += 1) {
      this.#windows += 1;
      const difference = this.#inWindow - this.#mean;
      this.#mean += difference / this.#windows;
      this.#squares += difference * (this.#inWindow - this.#mean);
      this.#inWindow = 0;
    }
  }
}

const WINDOWS_MIN = 20;

/** Thirty windows of a run, but none longer than ten seconds. */
export function checkWindowUs(durationUs: number): number {
  return Math.max(1, Math.min(10 * US_PER_S, Math.floor(durationUs / 30)));
}
