/**
 * From whoever has something to tell to one who asks for it, as an async iterable. What is put in comes out in order and
 * once; it ends, or fails, behind all that was put in before. Who stops asking is told to the other side.
 *
 * Bound: none of its own. `isFull` tells whoever reads a source to wait with the next read, and `onRoom` when to go on.
 */

export interface OutletOptions {
  /** From here on it is full. */
  readonly sizeMax: number;
  /** Nobody asks any more. Not told after the end. */
  readonly onLeave: () => void;
  /** It was full and is no more. */
  readonly onRoom?: () => void;
}

interface Entry<Item> {
  readonly item: Item;
  readonly size: number;
}

interface Waiting<Item> {
  readonly resolve: (result: IteratorResult<Item, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

export class Outlet<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #options: OutletOptions;
  #entries: Entry<Item>[] = [];
  /** Of the next entry; those before it are gone. */
  #at = 0;
  #size = 0;
  readonly #waiting: Waiting<Item>[] = [];
  #end: { readonly error?: unknown } | undefined;
  #hasLeft = false;

  constructor(options: OutletOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#size >= this.#options.sizeMax;
  }

  /** What has been put in and not been asked for. */
  get unread(): readonly Item[] {
    return this.#entries.slice(this.#at).map(({ item }) => item);
  }

  /** What nobody has asked for yet is no more. */
  drop(): void {
    this.#entries = [];
    this.#at = 0;
    this.#size = 0;
  }

  put(item: Item, size: number): void {
    if (this.#end !== undefined || this.#hasLeft) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: item });
      return;
    }
    this.#entries.push({ item, size });
    this.#size += size;
  }

  /** Nothing follows. @param failure what the reader is told then, if it is no good end. */
  close(failure?: { readonly error: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = failure ?? {};
    for (const waiting of this.#waiting.splice(0)) {
      if (failure !== undefined && !this.#hasLeft) {
        this.#hasLeft = true;
        waiting.reject(failure.error);
      } else waiting.resolve(DONE);
    }
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const entry = this.#entries[this.#at];
    if (entry !== undefined) return Promise.resolve({ done: false, value: this.#take(entry) });
    if (this.#hasLeft) return Promise.resolve(DONE);
    if (this.#end !== undefined) {
      this.#hasLeft = true;
      return "error" in this.#end ? Promise.reject(this.#end.error) : Promise.resolve(DONE);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  return(): Promise<IteratorResult<Item, undefined>> {
    const wasOpen = this.#end === undefined && !this.#hasLeft;
    this.#hasLeft = true;
    this.drop();
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(DONE);
    if (wasOpen) this.#options.onLeave();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take({ item, size }: Entry<Item>): Item {
    const wasFull = this.isFull;
    this.#size -= size;
    this.#at += 1;
    // What has been read is let go in large steps: one at a time would cost as much as a list has entries.
    if (this.#at >= 1_024 || this.#at === this.#entries.length) {
      this.#entries.splice(0, this.#at);
      this.#at = 0;
    }
    if (wasFull && !this.isFull) this.#options.onRoom?.();
    return item;
  }
}
