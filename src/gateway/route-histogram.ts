/**
 * A Prometheus histogram of times by route, for values that come by the thousand: a record is an index search and two
 * additions, where prom-client's own hashes the labels and walks the buckets for each token of each stream (6 % of the
 * gateway's time at its ceiling). Times go in as whole microseconds and are shown in seconds, as Prometheus wants them.
 */
import type { Metric, Registry } from "prom-client";
import { US_PER_S } from "../core/index.ts";

interface Series {
  /** One per bound, and one for what is above all of them; not cumulative. */
  readonly counts: Float64Array;
  sumUs: number;
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class RouteHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly #boundsS: readonly number[];
  readonly #boundsUs: Float64Array;
  /** As many as there are routes. */
  readonly #series = new Map<string, Series>();

  /** @param boundsS upper ends of the buckets, in seconds, ascending. */
  constructor(registry: Registry, name: string, help: string, boundsS: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#boundsS = boundsS;
    this.#boundsUs = Float64Array.from(boundsS, (bound) => Math.round(bound * US_PER_S));
    // A registry asks for a name and for `get`, which its types hide behind the classes that it has itself.
    registry.registerMetric(this as unknown as Metric);
  }

  record(route: string, us: number): void {
    const series = this.#of(route);
    series.counts[this.#bucketOf(us)]! += 1;
    series.sumUs += us;
  }

  recordAll(route: string, valuesUs: readonly number[]): void {
    if (valuesUs.length === 0) return;
    const series = this.#of(route);
    for (const us of valuesUs) {
      series.counts[this.#bucketOf(us)]! += 1;
      series.sumUs += us;
    }
  }

  #of(route: string): Series {
    let series = this.#series.get(route);
    if (series === undefined) {
      series = { counts: new Float64Array(this.#boundsUs.length + 1), sumUs: 0 };
      this.#series.set(route, series);
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

  /** What a registry prints: cumulative buckets, sum and count of each route. */
  async get(): Promise<object> {
    const values: Sample[] = [];
    for (const [route, { counts, sumUs }] of this.#series) {
      let count = 0;
      for (const [i, inBucket] of counts.entries()) {
        count += inBucket;
        const labels = { route, le: this.#boundsS[i] ?? "+Inf" };
        values.push({ metricName: `${this.name}_bucket`, labels, value: count });
      }
      const sum = { metricName: `${this.name}_sum`, labels: { route }, value: sumUs / US_PER_S };
      values.push(sum, { metricName: `${this.name}_count`, labels: { route }, value: count });
    }
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values };
  }
}
