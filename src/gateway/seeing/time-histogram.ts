/**
 * A Prometheus histogram of times for values that come by the thousand: a record is an index search and two additions,
 * where prom-client's own hashes the labels and walks the buckets for each token of each stream (6 % of the gateway's time
 * at its ceiling). Times go in as whole microseconds and are shown in seconds, as Prometheus wants them.
 */
import { US_PER_S } from "../../core/index.ts";
import { bookOf, type LabelBook } from "./label-book.ts";
import type { Exemplar, MetricFamily, Sample } from "./metric-family.ts";
import type { TraceContext } from "./trace-context.ts";

/** What leads from a bucket to a call. Kept for each bucket, so it holds nothing large. */
export interface ExemplarLink {
  readonly requestId: string;
  readonly trace: TraceContext | undefined;
  /** Unix time. */
  readonly wallMs: number;
}

interface Series {
  /** One per bound, and one for what is above all of them; not cumulative. */
  readonly counts: Float64Array;
  sumUs: number;
  /** The newest call of each bucket that is known, and its value. */
  readonly links: (ExemplarLink | undefined)[];
  readonly linkedUs: number[];
}

interface TimeHistogramParts {
  readonly name: string;
  readonly help: string;
  /** Their names, or a book that several families share. */
  readonly labels: readonly string[] | LabelBook;
  /** Upper ends of the buckets, in seconds, ascending. */
  readonly boundsS: readonly number[];
}

export class TimeHistogram implements MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly book: LabelBook;
  readonly #boundsS: readonly number[];
  readonly #boundsUs: Float64Array;
  readonly #series: Series[] = [];

  constructor({ name, help, labels, boundsS }: TimeHistogramParts) {
    this.name = name;
    this.help = help;
    this.book = bookOf(labels);
    this.#boundsS = boundsS;
    this.#boundsUs = Float64Array.from(boundsS, (bound) => Math.round(bound * US_PER_S));
  }

  /** @param index of the labels, from `book`. */
  record(index: number, us: number, link?: ExemplarLink): void {
    const series = this.#of(index);
    const bucket = this.#bucketOf(us);
    series.counts[bucket]! += 1;
    series.sumUs += us;
    if (link === undefined) return;
    series.links[bucket] = link;
    series.linkedUs[bucket] = us;
  }

  recordAll(index: number, valuesUs: readonly number[]): void {
    if (valuesUs.length === 0) return;
    const series = this.#of(index);
    for (const us of valuesUs) {
      series.counts[this.#bucketOf(us)]! += 1;
      series.sumUs += us;
    }
  }

  #of(index: number): Series {
    let series = this.#series[index];
    if (series === undefined) {
      series = {
        counts: new Float64Array(this.#boundsUs.length + 1),
        sumUs: 0,
        links: [],
        linkedUs: [],
      };
      this.#series[index] = series;
    }
    return series;
  }

  /** The first bound that is not below `us`. */
  #bucketOf(us: number): number {
    const bounds = this.#boundsUs;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (us <= bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Cumulative buckets, sum and count of each series. */
  samples(): readonly Sample[] {
    const samples: Sample[] = [];
    this.#series.forEach(({ counts, sumUs, links, linkedUs }, index) => {
      const labels = this.book.labelsOf(index);
      let count = 0;
      for (const [i, inBucket] of counts.entries()) {
        count += inBucket;
        const link = links[i];
        samples.push({
          metricName: `${this.name}_bucket`,
          labels: { ...labels, le: this.#boundsS[i] ?? "+Inf" },
          value: count,
          ...(link !== undefined && { exemplar: exemplarOf(link, linkedUs[i]!) }),
        });
      }
      samples.push({ metricName: `${this.name}_sum`, labels, value: sumUs / US_PER_S });
      samples.push({ metricName: `${this.name}_count`, labels, value: count });
    });
    return samples;
  }
}

function exemplarOf({ trace, requestId, wallMs }: ExemplarLink, us: number): Exemplar {
  const labelSet =
    trace === undefined
      ? // OpenMetrics allows 128 characters in all.
        { request_id: requestId.slice(0, 100) }
      : { trace_id: trace.traceId };
  return { labelSet, value: us / US_PER_S, timestamp: wallMs / 1_000 };
}
