/**
 * A binary min-heap ordered by (time, sequence): the one definition of "what happens next" in simulated time. Entries
 * with equal times leave in the order in which they came.
 */
export interface HeapEntry {
  readonly atUs: number;
  readonly sequence: number;
}

function before(a: HeapEntry, b: HeapEntry): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.sequence < b.sequence);
}

export class EventHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  peek(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    const entries = this.#entries;
    let hole = entries.length;
    entries.push(entry);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!before(entry, entries[parent]!)) break;
      entries[hole] = entries[parent]!;
      hole = parent;
    }
    entries[hole] = entry;
  }

  pop(): Entry | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= entries.length) break;
      if (child + 1 < entries.length && before(entries[child + 1]!, entries[child]!)) child += 1;
      if (!before(entries[child]!, last)) break;
      entries[hole] = entries[child]!;
      hole = child;
    }
    entries[hole] = last;
    return first;
  }
}
