/**
 * Sets of label values, each with a number, so that a series on the hot path is an index into an array. Bounded: once it is
 * full, every further set counts as "other", and the number of series on /metrics cannot grow with what callers send.
 *
 * The numbers hang in a tree, a level for each label: a search hashes no new string, which a dozen of them a call would
 * feel. What was asked for last is tried before it, since most calls are like the one before: 3 ns instead of 30.
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
  /** What was asked for last; -1: nothing yet. */
  #last = -1;
  #first: string | undefined;
  #second: string | undefined;
  #third: string | undefined;
  #fourth: string | undefined;

  constructor(names: readonly string[], setsMax: number = SETS_MAX) {
    this.#names = names;
    this.#setsMax = setsMax;
  }

  /** No labels: one series. */
  get isPlain(): boolean {
    return this.#names.length === 0;
  }

  /**
   * The values in the order of their names, as many. No rest parameter: its array was allocated a dozen times a call.
   * @returns the same number for the same values, from 0.
   */
  at(first?: string, second?: string, third?: string, fourth?: string): number {
    const isLast =
      first === this.#first &&
      second === this.#second &&
      third === this.#third &&
      fourth === this.#fourth;
    if (isLast && this.#last !== -1) return this.#last;
    this.#first = first;
    this.#second = second;
    this.#third = third;
    this.#fourth = fourth;
    this.#last = this.#find(first, second, third, fourth);
    return this.#last;
  }

  #find(first?: string, second?: string, third?: string, fourth?: string): number {
    let branch: Branch | undefined = this.#root;
    if (first !== undefined) branch = branch.branches.get(first);
    if (second !== undefined) branch = branch?.branches.get(second);
    if (third !== undefined) branch = branch?.branches.get(third);
    if (fourth !== undefined) branch = branch?.branches.get(fourth);
    if (branch !== undefined && branch.index !== -1) return branch.index;
    return this.#add([first, second, third, fourth].filter((value) => value !== undefined));
  }

  labelsOf(index: number): Labels {
    return this.#sets[index]!;
  }

  #add(values: readonly string[]): number {
    const isFull = this.#sets.length >= this.#setsMax;
    const kept = isFull ? this.#names.map(() => OTHER) : values;
    let branch = this.#root;
    for (const value of kept) {
      const next = branch.branches.get(value) ?? new Branch();
      branch.branches.set(value, next);
      branch = next;
    }
    if (branch.index !== -1) return branch.index;
    branch.index = this.#sets.length;
    this.#sets.push(Object.fromEntries(this.#names.map((name, i) => [name, kept[i] ?? ""])));
    return branch.index;
  }
}

/** A book for names; a book that is shared stays what it is. */
export function bookOf(labels: readonly string[] | LabelBook): LabelBook {
  return labels instanceof LabelBook ? labels : new LabelBook(labels);
}
