/** A metric as plain data: what a page prints of it, whoever keeps the numbers. */
import { bookOf, type LabelBook, type Labels } from "./label-book.ts";

export interface Exemplar {
  readonly labelSet: Labels;
  readonly value: number;
  /** Unix time in seconds. */
  readonly timestamp: number;
}

export interface Sample {
  /** Where it is not the family's own name. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  samples(): readonly Sample[];
}

interface FamilyParts<LabelNames> {
  readonly name: string;
  readonly help: string;
  readonly labels: LabelNames;
}

/** Numbers that are added up as things happen. An addition is an array access; labels are looked up once, by `book`. */
export class CounterFamily implements MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type = "counter";
  readonly book: LabelBook;
  readonly #values: number[] = [];

  constructor({ name, help, labels }: FamilyParts<readonly string[] | LabelBook>) {
    this.name = name;
    this.help = help;
    this.book = bookOf(labels);
    // What has no labels exists from the start, at 0.
    if (this.book.isPlain) this.add(this.book.at(), 0);
  }

  /** @param index of the labels, from `book`. */
  add(index: number, by = 1): void {
    this.#values[index] = (this.#values[index] ?? 0) + by;
  }

  samples(): readonly Sample[] {
    const samples: Sample[] = [];
    // A sparse array skips series of the shared book that this family has none of.
    this.#values.forEach((value, index) => {
      samples.push({ labels: this.book.labelsOf(index), value });
    });
    return samples;
  }
}

/** One series as it is now: the values of its labels, and its number. */
export type Reading = readonly [values: readonly string[], value: number];

/** Numbers that somebody else keeps, read when the page is asked for. */
export class ReadFamily implements MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly #labels: readonly string[];
  readonly #read: () => Iterable<Reading>;

  constructor(
    { name, help, labels }: FamilyParts<readonly string[]>,
    read: () => Iterable<Reading>,
  ) {
    this.type = name.endsWith("_total") ? "counter" : "gauge";
    this.name = name;
    this.help = help;
    this.#labels = labels;
    this.#read = read;
  }

  samples(): readonly Sample[] {
    return Array.from(this.#read(), ([values, value]) => ({
      labels: Object.fromEntries(this.#labels.map((name, i) => [name, values[i] ?? ""])),
      value,
    }));
  }
}
