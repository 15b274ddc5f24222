/**
 * Prometheus' text format, as far as a fit needs it: samples by name, summed over series. A histogram is the sum of those of
 * all its label sets, which their common buckets allow.
 */
import { ManxError } from "../../core/index.ts";

export interface PageHistogram {
  /** Upper ends of buckets, ascending, the last +Inf. */
  readonly ends: readonly number[];
  /** Observations up to each end. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*?)\})?\s+(\S+)(?:\s+-?\d+(?:\.\d+)?)?(?:\s+#\s.*)?$/;
/** Bound on what is kept of one page. */
const SAMPLES_MAX = 200_000;

interface Sample {
  readonly labels: string;
  readonly value: number;
}

export class MetricsPage {
  readonly #where: string;
  readonly #samples = new Map<string, Sample[]>();

  /** @throws MANX_TABLE_FORMAT if it is no such page. */
  constructor(text: string, where: string) {
    this.#where = where;
    let samples = 0;
    for (const [index, line] of text.split("\n").entries()) {
      const trimmed = line.trim();
      if (trimmed === "" || trimmed.startsWith("#")) continue;
      const match = SAMPLE.exec(trimmed);
      const value = match === null ? Number.NaN : numberOf(match[3]!);
      samples += 1;
      if (match === null || value === undefined || samples > SAMPLES_MAX) {
        throw new ManxError("MANX_TABLE_FORMAT", {
          what: "a page of metrics is not in Prometheus' text format",
          where: `${where}:${index + 1}`,
          expected:
            samples > SAMPLES_MAX ? `at most ${SAMPLES_MAX} samples` : "name{labels} number",
          got: JSON.stringify(trimmed.slice(0, 60)),
          hint: "give the engine's own /metrics, as curl shows it",
        });
      }
      const name = match[1]!;
      const list = this.#samples.get(name) ?? [];
      list.push({ labels: match[2] ?? "", value });
      this.#samples.set(name, list);
    }
    if (samples > 0) return;
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "a page of metrics is empty",
      where,
      hint: "give the engine's own /metrics, as curl shows it",
    });
  }

  get where(): string {
    return this.#where;
  }

  get names(): readonly string[] {
    return [...this.#samples.keys()];
  }

  /** Over all series of the first of these names that is there; undefined if none is. */
  sum(...names: readonly string[]): number | undefined {
    const found = names.find((name) => this.#samples.has(name));
    if (found === undefined) return undefined;
    return this.#samples.get(found)!.reduce((total, { value }) => total + value, 0);
  }

  /** A label's value in the first series of a name. */
  label(name: string, label: string): string | undefined {
    const labels = this.#samples.get(name)?.[0]?.labels ?? "";
    return labelOf(labels, label);
  }

  /** The first of these names that has buckets. */
  histogram(...names: readonly string[]): PageHistogram | undefined {
    const name = names.find((one) => this.#samples.has(`${one}_bucket`));
    if (name === undefined) return undefined;
    const byEnd = new Map<number, number>();
    for (const { labels, value } of this.#samples.get(`${name}_bucket`)!) {
      const end = numberOf(labelOf(labels, "le") ?? "");
      if (end === undefined || Number.isNaN(end)) continue;
      byEnd.set(end, (byEnd.get(end) ?? 0) + value);
    }
    const ends = [...byEnd.keys()].sort((a, b) => a - b);
    const counts = ends.map((end) => byEnd.get(end)!);
    const count = this.sum(`${name}_count`) ?? counts.at(-1) ?? 0;
    return { ends, counts, sum: this.sum(`${name}_sum`) ?? Number.NaN, count };
  }
}

/** Prometheus' own words for what no number can say; undefined for what is no number. */
function numberOf(text: string): number | undefined {
  if (/^[+-]?inf$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? undefined : value;
}

function labelOf(labels: string, name: string): string | undefined {
  return new RegExp(`(?:^|,)\\s*${name}="([^"]*)"`).exec(labels)?.[1];
}
