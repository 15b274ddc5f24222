/**
 * A binary min-heap whose items know their place in it, so that any of them can be moved or taken out in O(log n).
 * Invariant: `heap[item.place]` is `item` for each item that is in, and `place` is −1 for each that is not.
 */
import { assert } from "../../core/index.ts";

export interface Placed {
  /** Owned by the heap; −1 while in none. An item is in one heap at a time. */
  place: number;
}

export class PlacedHeap<Item extends Placed> {
  readonly #items: Item[] = [];
  readonly #before: (a: Item, b: Item) => boolean;

  /** @param before a strict order; of two that are equal in it, either may come first. */
  constructor(before: (a: Item, b: Item) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    assert(item.place === -1, "an item is in one heap at a time");
    this.#items.push(item);
    this.#rise(this.#items.length - 1, item);
  }

  /** Answers false if it is in no heap. It must not be in another one. */
  remove(item: Item): boolean {
    const { place } = item;
    if (place === -1) return false;
    const last = this.#items.pop()!;
    item.place = -1;
    if (last !== item) this.#settle(place, last);
    return true;
  }

  /** Its order has changed. */
  update(item: Item): void {
    assert(item.place !== -1, "only an item in the heap can be moved");
    this.#settle(item.place, item);
  }

  #settle(hole: number, item: Item): void {
    if (hole > 0 && this.#before(item, this.#items[(hole - 1) >> 1]!)) this.#rise(hole, item);
    else this.#sink(hole, item);
  }

  #rise(from: number, item: Item): void {
    const items = this.#items;
    let hole = from;
    while (hole > 0) {
      const parent = items[(hole - 1) >> 1]!;
      if (!this.#before(item, parent)) break;
      items[hole] = parent;
      parent.place = hole;
      hole = (hole - 1) >> 1;
    }
    items[hole] = item;
    item.place = hole;
  }

  #sink(from: number, item: Item): void {
    const items = this.#items;
    let hole = from;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child += 1;
      if (!this.#before(items[child]!, item)) break;
      items[hole] = items[child]!;
      items[hole]!.place = hole;
      hole = child;
    }
    items[hole] = item;
    item.place = hole;
  }
}
