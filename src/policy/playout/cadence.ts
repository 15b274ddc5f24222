/**
 * How often a stream brings something, from its last few bursts. What comes within a few milliseconds is one burst: it was
 * one read, or one packet, of whoever gathers on the way.
 */

/** Apart by less, two arrivals are one burst. */
const BURST_US = 5_000;
const GAPS_MAX = 8;

export class Cadence {
  /** Between the beginnings of bursts, newest last. */
  readonly #gapsUs: number[] = [];
  #burstUs: number | undefined;

  /** Something has come. @param nowUs never decreases. */
  arrived(nowUs: number): void {
    if (this.#burstUs === undefined) {
      this.#burstUs = nowUs;
      return;
    }
    const gapUs = nowUs - this.#burstUs;
    if (gapUs < BURST_US) return;
    this.#burstUs = nowUs;
    this.#gapsUs.push(gapUs);
    if (this.#gapsUs.length > GAPS_MAX) this.#gapsUs.shift();
  }

  /**
   * For how long a burst has to last: the longest gap but one of the last eight, so that one stall changes nothing.
   * @returns µs; 0 as long as nothing is known.
   */
  get spreadUs(): number {
    if (this.#gapsUs.length === 0) return 0;
    const sorted = [...this.#gapsUs].sort((a, b) => b - a);
    return sorted[1] ?? sorted[0]!;
  }
}
