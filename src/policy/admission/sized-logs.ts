/**
 * Logarithms of times to first content, by size of prompt, as sums: so that the mean of one set can be held against that of
 * another, size by size, whatever the mix of sizes in each.
 */

/** Prompts up to 2^22 tokens, a class for each doubling. */
const SIZES = 23;
/** Fewer of a size say nothing. */
const SAMPLES_MIN = 5;

export interface Excess {
  /** Of the logarithm; 0 without samples. */
  readonly mean: number;
  /** Its standard error. */
  readonly error: number;
  /** Samples of sizes that the other set knows too. */
  readonly samples: number;
}

export class SizedLogs {
  readonly #sum = new Float64Array(SIZES);
  readonly #squares = new Float64Array(SIZES);
  readonly #count = new Float64Array(SIZES);
  /** Since it was cleared. */
  samples = 0;

  /** @param samplesMax of a size, at which all of them begin to weigh half. */
  record(inputTokens: number, ttftUs: number, samplesMax = Number.POSITIVE_INFINITY): void {
    const size = Math.min(SIZES - 1, 31 - Math.clz32(Math.max(1, inputTokens)));
    const log = Math.log(Math.max(1, ttftUs));
    this.#sum[size]! += log;
    this.#squares[size]! += log ** 2;
    this.#count[size]! += 1;
    this.samples += 1;
    if (this.#count[size]! >= samplesMax) this.#fadeSize(size, samplesMax / 2);
  }

  /** How much longer these took than those of `base`. */
  over(base: SizedLogs): Excess {
    let [sum, squares, samples] = [0, 0, 0];
    for (let size = 0; size < SIZES; size += 1) {
      if (base.#count[size]! < SAMPLES_MIN) continue;
      const mean = base.#sum[size]! / base.#count[size]!;
      const count = this.#count[size]!;
      sum += this.#sum[size]! - count * mean;
      squares += this.#squares[size]! - 2 * mean * this.#sum[size]! + count * mean ** 2;
      samples += count;
    }
    if (samples === 0) return { mean: 0, error: 0, samples };
    const mean = sum / samples;
    const variance = Math.max(0, squares / samples - mean ** 2);
    return { mean, error: Math.sqrt(variance / samples), samples };
  }

  /** As if each had taken this much longer, as a logarithm. */
  shift(by: number): void {
    for (let size = 0; size < SIZES; size += 1) {
      const [sum, count] = [this.#sum[size]!, this.#count[size]!];
      this.#squares[size]! += 2 * by * sum + count * by ** 2;
      this.#sum[size]! += by * count;
    }
  }

  /** Samples of each size count as `kept` at most; their mean stays. */
  fade(kept: number): void {
    for (let size = 0; size < SIZES; size += 1) this.#fadeSize(size, kept);
  }

  add(other: SizedLogs): void {
    for (let size = 0; size < SIZES; size += 1) {
      this.#sum[size]! += other.#sum[size]!;
      this.#squares[size]! += other.#squares[size]!;
      this.#count[size]! += other.#count[size]!;
    }
    this.samples += other.samples;
  }

  clear(): void {
    this.#sum.fill(0);
    this.#squares.fill(0);
    this.#count.fill(0);
    this.samples = 0;
  }

  #fadeSize(size: number, kept: number): void {
    const count = this.#count[size]!;
    if (count <= kept) return;
    this.#sum[size]! *= kept / count;
    this.#squares[size]! *= kept / count;
    this.#count[size] = kept;
  }
}
