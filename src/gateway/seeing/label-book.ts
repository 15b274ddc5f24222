/**
 * Sets of label values, each with a number, so that a series on the hot path is an index into an array. Bounded: once it is
 * full, every further set counts as "other", and the number of series on /metrics cannot grow with what callers send.
 */

/** More series of one family than any dashboard shows. */
const SETS_MAX = 2_000;
const OTHER = "other";

export type Labels = Readonly<Record<string, string>>;

export class LabelBook {
  readonly #names: readonly string[];
  readonly #setsMax: number;
  readonly #indexes = new Map<string, number>();
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
    const key = values.length === 1 ? values[0]! : values.join("\0");
    return this.#indexes.get(key) ?? this.#add(key, values);
  }

  labelsOf(index: number): Labels {
    return this.#sets[index]!;
  }

  #add(key: string, values: readonly string[]): number {
    const isFull = this.#sets.length >= this.#setsMax;
    if (isFull && !values.every((value) => value === OTHER)) {
      return this.at(...this.#names.map(() => OTHER));
    }
    const index = this.#sets.length;
    this.#indexes.set(key, index);
    this.#sets.push(Object.fromEntries(this.#names.map((name, i) => [name, values[i] ?? ""])));
    return index;
  }
}

/** A book for names; a book that is shared stays what it is. */
export function bookOf(labels: readonly string[] | LabelBook): LabelBook {
  return labels instanceof LabelBook ? labels : new LabelBook(labels);
}
