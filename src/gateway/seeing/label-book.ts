/**
 * Sets of label values, each with a number, so that a series on the hot path is an index into an array. Bounded: once it is
 * full, every further set counts as "other", and the number of series on /metrics cannot grow with what callers send.
 *
 * The numbers hang in a tree, a level for each label: a search hashes no new string, which a dozen of them a call would
 * feel.
 */

/** More series of one family than any dashboard shows. */
const SETS_MAX = 2_000;
const OTHER = "other";

export type Labels = Readonly<Record<string, string>>;

class Branch {
  readonly branches = new Map<string, Branch>();
  index = -1;
}

export class LabelBook {
  readonly #names: readonly string[];
  readonly #setsMax: number;
  readonly #root = new Branch();
  readonly #sets: Labels[] = [];

  constructor(names: readonly string[], setsMax: number = SETS_MAX) {
    this.#names = names;
    this.#setsMax = setsMax;
  }

  /** No labels: one series. */
  get isPlain(): boolean {
    return this.#names.length === 0;
  }

  /** @param values one per name, in their order. @returns the same number for the same values, from 0. */
  at(...values: readonly string[]): number {
    let branch: Branch | undefined = this.#root;
    for (const value of values) {
      branch = branch.branches.get(value);
      if (branch === undefined) return this.#add(values);
    }
    return branch.index === -1 ? this.#add(values) : branch.index;
  }

  labelsOf(index: number): Labels {
    return this.#sets[index]!;
  }

  #add(values: readonly string[]): number {
    const isFull = this.#sets.length >= this.#setsMax;
    if (isFull && !values.every((value) => value === OTHER)) {
      return this.at(...this.#names.map(() => OTHER));
    }
    let branch = this.#root;
    for (const value of values) {
      const next = branch.branches.get(value) ?? new Branch();
      branch.branches.set(value, next);
      branch = next;
    }
    branch.index = this.#sets.length;
    this.#sets.push(Object.fromEntries(this.#names.map((name, i) => [name, values[i] ?? ""])));
    return branch.index;
  }
}

/** A book for names; a book that is shared stays what it is. */
export function bookOf(labels: readonly string[] | LabelBook): LabelBook {
  return labels instanceof LabelBook ? labels : new LabelBook(labels);
}
