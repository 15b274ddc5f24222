/**
 * The families of one server as a page: Prometheus' text format, or OpenMetrics for a scraper that asks for it, which alone
 * can carry exemplars. Each format has a registry of its own with its own view of each family, since prom-client renames
 * counters for good once it has printed them as OpenMetrics.
 */
import { type Metric, type OpenMetricsContentType, Registry } from "prom-client";
import type { LabelBook } from "./label-book.ts";
import { CounterFamily, type MetricFamily, ReadFamily, type Reading } from "./metric-family.ts";
import { TimeHistogram } from "./time-histogram.ts";

/** What a registry asks of a metric; its types hide it behind the classes that it has itself. */
interface RegistryMetric {
  name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  get(): Promise<object>;
}

const PREFIX = "manx_gateway_";

export class MetricPage {
  readonly #text = new Registry();
  readonly #open = new Registry<OpenMetricsContentType>();

  constructor() {
    this.#open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  }

  /** @param labels their names, or a book that several families share. */
  counter(name: string, help: string, labels: readonly string[] | LabelBook = []): CounterFamily {
    return this.#add(new CounterFamily({ name: fullName(name), help, labels }));
  }

  times(
    name: string,
    help: string,
    boundsS: readonly number[],
    labels: readonly string[] | LabelBook = [],
  ): TimeHistogram {
    return this.#add(new TimeHistogram({ name: fullName(name), help, labels, boundsS }));
  }

  /** @param read asked whenever somebody looks. A counter's name ends in `_total`. */
  read(name: string, help: string, labels: readonly string[], read: () => Iterable<Reading>): void {
    this.#add(new ReadFamily({ name: fullName(name), help, labels }, read));
  }

  #add<Family extends MetricFamily>(family: Family): Family {
    this.#text.registerMetric(viewOf(family) as unknown as Metric);
    this.#open.registerMetric(viewOf(family) as unknown as Metric);
    return family;
  }

  /** @param accept header of the scraper. */
  async render(accept = ""): Promise<{ readonly contentType: string; readonly text: string }> {
    const registry = accept.includes("application/openmetrics-text") ? this.#open : this.#text;
    return { contentType: registry.contentType, text: await registry.metrics() };
  }
}

function viewOf(family: MetricFamily): RegistryMetric {
  const { name, help, type } = family;
  const view: RegistryMetric = {
    name,
    help,
    type,
    aggregator: "sum",
    // The name as the registry has it by now: for OpenMetrics without `_total`, which it adds to the samples.
    get: async () => ({ name: view.name, help, type, aggregator: "sum", values: family.samples() }),
  };
  return view;
}

/** What Prometheus itself calls a process's figures goes by those names everywhere. */
function fullName(name: string): string {
  return name.startsWith("process_") ? name : PREFIX + name;
}
