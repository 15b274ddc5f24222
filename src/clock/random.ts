/**
 * The one door to chance. A seed gives one independent stream of numbers per purpose ("arrivals", "lengths", "faults"),
 * so a new draw in one purpose does not shift the others. Generator: sfc32 (Chris Doty-Humphrey, PractRand).
 */
import { assert } from "../core/index.ts";

/** FNV-1a over UTF-16 code units: 32 bits that depend on every character of the purpose. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  #spareNormal: number | undefined;

  /** @param seed integer from 0 to 2^53 − 1. @param purpose what the numbers are for. */
  constructor(seed: number, purpose: string) {
    assert(Number.isSafeInteger(seed) && seed >= 0, "a seed is a whole number from 0 to 2^53 - 1");
    this.#a = hash32(purpose);
    this.#b = seed >>> 0;
    this.#c = Math.floor(seed / 2 ** 32) >>> 0;
    // Close seeds start in close states; twelve rounds are the generator's own warm-up, more cost nothing.
    for (let i = 0; i < 20; i += 1) this.#next32();
  }

  /** Uniform in [0, 1) with 53 random bits. */
  next(): number {
    return ((this.#next32() >>> 5) * 2 ** 26 + (this.#next32() >>> 6)) / 2 ** 53;
  }

  /** Uniform whole number in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  exponential(mean: number): number {
    return -mean * Math.log1p(-this.next());
  }

  /** Mean 0, variance 1 (Marsaglia's polar method). */
  normal(): number {
    if (this.#spareNormal !== undefined) {
      const spare = this.#spareNormal;
      this.#spareNormal = undefined;
      return spare;
    }
    for (;;) {
      const x = 2 * this.next() - 1;
      const y = 2 * this.next() - 1;
      const square = x * x + y * y;
      if (square === 0 || square >= 1) continue;
      const scale = Math.sqrt((-2 * Math.log(square)) / square);
      this.#spareNormal = y * scale;
      return x * scale;
    }
  }

  /**
   * Gamma with the given shape and mean; shape 1 is exponential, a smaller one is burstier (CV = 1/√shape).
   * Marsaglia and Tsang 2000, with their power correction for shapes below 1.
   */
  gamma(shape: number, mean: number): number {
    if (shape < 1) {
      const boost = (1 - this.next()) ** (1 / shape);
      return (this.gamma(shape + 1, 1) * (shape + 1) * boost * mean) / shape;
    }
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const v = (1 + c * x) ** 3;
      if (v <= 0) continue;
      if (Math.log(1 - this.next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) {
        return (d * v * mean) / shape;
      }
    }
  }

  /** Fisher–Yates in place. */
  shuffle<Item>(items: Item[]): Item[] {
    for (let i = items.length - 1; i > 0; i -= 1) {
      const j = this.int(i + 1);
      const kept = items[i]!;
      items[i] = items[j]!;
      items[j] = kept;
    }
    return items;
  }

  #next32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}
