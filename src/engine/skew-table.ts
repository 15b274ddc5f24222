/**
 * By how much decodes of unequal length cost more than as many of their mean length: α between 0 (as if all were as long
 * as the mean) and 1 (as if all were as long as the longest), measured in bins of five quantities.
 */
import { readTable, type TableText } from "./measured-table.ts";

export interface SkewPoint {
  /** New tokens of the step's prefill chunks, and the mean context under them. */
  readonly tokens: number;
  readonly context: number;
  readonly decodes: number;
  /** (mean − shortest) / (longest − shortest) of the decodes' KV lengths. */
  readonly rate: number;
  /** Longest KV length, tokens. */
  readonly longest: number;
}

/** Upper end of each bin, itself included, and its label in the table. What lies above all belongs to the last. */
type Bins = readonly (readonly [number, string])[];

const DECODES: Bins = [
  ...[2, 4, 8, 16, 32, 64, 128, 256].map((n) => [n, `n<=${n}`] as const),
  [Number.POSITIVE_INFINITY, "n>256"],
];
const RATE: Bins = [
  [0.05, "sr<=5%"],
  [0.15, "sr<=15%"],
  [0.4, "sr<=40%"],
  [0.7, "sr<=70%"],
  [Number.POSITIVE_INFINITY, "sr>70%"],
];
const LONGEST: Bins = [
  [1_024, "kvB<=1k"],
  [4_096, "kvB<=4k"],
  [16_384, "kvB<=16k"],
  [Number.POSITIVE_INFINITY, "kvB>16k"],
];
const CONTEXT: Bins = [
  [0, "kp=0"],
  [512, "kp<=512"],
  [1_024, "kp<=1k"],
  [2_048, "kp<=2k"],
  [4_096, "kp<=4k"],
  [8_192, "kp<=8k"],
  [Number.POSITIVE_INFINITY, "kp>8k"],
];

export class SkewTable {
  readonly #alphas = new Map<string, number>();
  readonly #chunks: number[];
  readonly #otherwise: number;

  /** @throws MANX_TABLE_FORMAT */
  constructor(table: TableText, otherwise: number) {
    this.#otherwise = otherwise;
    const rows = readTable(table, {
      names: ["n_label", "skew_rate_label", "kv_big_label", "kp_label"],
      numbers: ["pc", "alpha"],
      signed: ["alpha"],
    });
    for (const { names, numbers } of rows) {
      this.#alphas.set([numbers[0], ...names].join(), numbers[1]!);
    }
    this.#chunks = [...new Set(rows.map(({ numbers }) => numbers[0]!))];
  }

  alpha({ tokens, context, decodes, rate, longest }: SkewPoint): number {
    const chunk = nearest(this.#chunks, tokens);
    const key = [
      chunk,
      labelOf(DECODES, decodes),
      labelOf(RATE, rate),
      labelOf(LONGEST, longest),
      labelOf(CONTEXT, context),
    ].join();
    return this.#alphas.get(key) ?? this.#otherwise;
  }
}

function labelOf(bins: Bins, value: number): string {
  for (const [end, label] of bins) if (value <= end) return label;
  return bins.at(-1)![1];
}

function nearest(places: readonly number[], x: number): number {
  let best = places[0]!;
  for (const place of places) if (Math.abs(place - x) < Math.abs(best - x)) best = place;
  return best;
}
