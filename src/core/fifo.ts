/**
 * First in, first out, with both ends open: a ring that grows up to a stated bound. `shift` and `unshift` are O(1),
 * which an array's are not once thousands of requests wait.
 */
import { assert } from "./assert.ts";

export class Fifo<Item> {
  readonly limit: number;
  #ring: (Item | undefined)[] = new Array<Item | undefined>(16);
  #head = 0;
  #size = 0;

  /** @param limit most items held at once; `push` and `unshift` answer false beyond it. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    assert(limit > 0, "a queue's limit is above zero");
    this.limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  push(item: Item): boolean {
    if (!this.#room()) return false;
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size += 1;
    return true;
  }

  unshift(item: Item): boolean {
    if (!this.#room()) return false;
    this.#head = (this.#head - 1) & (this.#ring.length - 1);
    this.#ring[this.#head] = item;
    this.#size += 1;
    return true;
  }

  peek(): Item | undefined {
    return this.#size === 0 ? undefined : this.#ring[this.#head];
  }

  shift(): Item | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size -= 1;
    return item;
  }

  /** Takes out the first item that is `item`; O(n), for aborts. */
  remove(item: Item): boolean {
    const kept: Item[] = [];
    let found = false;
    for (let left = this.#size; left > 0; left -= 1) {
      const next = this.shift() as Item;
      if (!found && next === item) found = true;
      else kept.push(next);
    }
    for (const next of kept) this.push(next);
    return found;
  }

  *[Symbol.iterator](): IterableIterator<Item> {
    for (let i = 0; i < this.#size; i += 1) {
      yield this.#ring[(this.#head + i) & (this.#ring.length - 1)] as Item;
    }
  }

  #room(): boolean {
    if (this.#size >= this.limit) return false;
    if (this.#size < this.#ring.length) return true;
    const grown = new Array<Item | undefined>(this.#ring.length * 2);
    for (let i = 0; i < this.#size; i += 1) {
      grown[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
    }
    this.#ring = grown;
    this.#head = 0;
    return true;
  }
}
