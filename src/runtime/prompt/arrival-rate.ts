/**
 * How often something arrives, by what was seen of late: arrivals and time, both fading with the same half-life. It begins with
 * one arrival that was not seen, so that a new prefix gets a chance, and falls for as long as nobody comes.
 */
import { assert } from "../../core/index.ts";

const US_PER_S = 1_000_000;

export class ArrivalRate {
  readonly #fadeUs: number;
  #atUs: number;
  #arrivals = 1;
  #seenUs = 0;

  constructor(nowUs: number, halfLifeUs: number) {
    assert(halfLifeUs > 0, "a half-life has a length");
    this.#fadeUs = halfLifeUs / Math.LN2;
    this.#atUs = nowUs;
  }

  arrived(nowUs: number): void {
    this.#fade(nowUs);
    this.#arrivals += 1;
  }

  /** @returns arrivals in a second; within the first second as if one had passed. */
  perS(nowUs: number): number {
    this.#fade(nowUs);
    return this.#arrivals / Math.max(1, this.#seenUs / US_PER_S);
  }

  #fade(nowUs: number): void {
    const passedUs = Math.max(0, nowUs - this.#atUs);
    const left = Math.exp(-passedUs / this.#fadeUs);
    this.#arrivals *= left;
    // The integral of what fades: time counts as much as an arrival in it.
    this.#seenUs = this.#seenUs * left + this.#fadeUs * (1 - left);
    this.#atUs += passedUs;
  }
}
