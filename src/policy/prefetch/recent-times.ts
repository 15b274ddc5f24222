/** The last few durations, for expectations over two of them at once, which no quantile gives. */
const KEPT = 32;

export class RecentTimes {
  readonly #times: number[] = [];
  #next = 0;

  record(us: number): void {
    this.#times[this.#next] = us;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** E[min(a, b)] with both independent: over all pairs. @returns undefined without a time on either side. */
  meanOfLesser(other: RecentTimes): number | undefined {
    if (this.#times.length === 0 || other.#times.length === 0) return undefined;
    let sum = 0;
    for (const a of this.#times) for (const b of other.#times) sum += Math.min(a, b);
    return sum / (this.#times.length * other.#times.length);
  }
}
