/** What is held, by when it came: groups of a few milliseconds, so that a rate over them costs little however many pieces. */

/** Apart by less, two arrivals are one group; its limit is that of its first one. */
const GROUP_US = 5_000;

export class Bursts {
  readonly #groups: { readonly sinceUs: number; size: number }[] = [];

  add(size: number, nowUs: number): void {
    const last = this.#groups.at(-1);
    if (last !== undefined && nowUs - last.sinceUs < GROUP_US) last.size += size;
    else this.#groups.push({ sinceUs: nowUs, size });
  }

  /** The oldest of it has gone. */
  remove(size: number): void {
    let left = size;
    for (let first = this.#groups[0]; first !== undefined && left > 0; first = this.#groups[0]) {
      const gone = Math.min(left, first.size);
      first.size -= gone;
      left -= gone;
      if (first.size > 0) break;
      this.#groups.shift();
    }
  }

  /** @returns units per µs with which each group is out within `withinUs` of its coming; infinite if one is late. */
  leastRate(withinUs: number, nowUs: number): number {
    let rate = 0;
    let before = 0;
    for (const { sinceUs, size } of this.#groups) {
      before += size;
      const leftUs = sinceUs + withinUs - nowUs;
      if (leftUs <= 0) return Number.POSITIVE_INFINITY;
      rate = Math.max(rate, before / leftUs);
    }
    return rate;
  }
}
