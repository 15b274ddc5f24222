/**
 * Numbered slots in order of last use: a doubly linked list in two typed arrays, so that a touch costs four writes and no
 * garbage. The list is a ring through one slot more, the anchor: behind it comes the oldest, before it the newest.
 */
export class SlotOrder {
  readonly #before: Int32Array;
  readonly #after: Int32Array;
  readonly #anchor: number;

  /** Every slot is in the order from the start: slot 0 is the oldest. */
  constructor(slots: number) {
    this.#anchor = slots;
    this.#before = new Int32Array(slots + 1);
    this.#after = new Int32Array(slots + 1);
    for (let slot = 0; slot <= slots; slot += 1) {
      this.#before[slot] = slot === 0 ? slots : slot - 1;
      this.#after[slot] = slot === slots ? 0 : slot + 1;
    }
  }

  get oldest(): number {
    return this.#after[this.#anchor]!;
  }

  /** The slot is the newest now. */
  touch(slot: number): void {
    const before = this.#before;
    const after = this.#after;
    after[before[slot]!] = after[slot]!;
    before[after[slot]!] = before[slot]!;
    const newest = before[this.#anchor]!;
    after[newest] = slot;
    before[slot] = newest;
    after[slot] = this.#anchor;
    before[this.#anchor] = slot;
  }
}
