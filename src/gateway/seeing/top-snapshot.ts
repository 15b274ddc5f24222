/**
 * What `manx gateway top` shows, from two looks at /metrics: rates and percentiles of what happened between them, and how
 * things stand at the second. With one look, of all since the gateway's start.
 */
import { type BucketQuantile, bucketQuantile } from "./bucket-quantile.ts";
import { parseScrapedPage, type ScrapedPage, type ScrapedSample } from "./scrape-page.ts";

export interface Look {
  readonly page: ScrapedPage;
  /** On the looker's clock. */
  readonly atUs: number;
  /** Unix time. */
  readonly wallMs: number;
}

export interface TopRow {
  readonly model: string;
  readonly upstream: string;
  readonly callsPerS: number;
  readonly ttftP50: BucketQuantile;
  readonly ttftP99: BucketQuantile;
  readonly itlP99: BucketQuantile;
  /** Of streams, 0 to 1; NaN without any. */
  readonly stalledShare: number;
  readonly retriesPerS: number;
  readonly hedgesPerS: number;
  /** Of attempts, 0 to 1; NaN without any. */
  readonly failedShare: number;
  readonly breaker: "closed" | "half-open" | "open";
  readonly connectionsOpen: number;
  readonly connectionsIdle: number;
}

export interface TopLane {
  readonly lane: string;
  readonly queued: number;
  readonly oldestS: number;
  readonly inFlight: number;
  readonly waitP99: BucketQuantile;
}

export interface TopSnapshot {
  /** Of what happened. */
  readonly windowS: number;
  readonly isSinceStart: boolean;
  readonly version: string;
  readonly inFlight: number;
  readonly requestsPerS: number;
  readonly refusedPerS: number;
  /** undefined without admission. */
  readonly limit: number | undefined;
  readonly lagP99: BucketQuantile;
  readonly linesDropped: number;
  readonly tracesDropped: number;
  readonly models: readonly { readonly model: string; readonly inFlight: number }[];
  readonly lanes: readonly TopLane[];
  readonly rows: readonly TopRow[];
}

const PREFIX = "manx_gateway_";
const BREAKERS = ["closed", "half-open", "open"] as const;
/** How an attempt ends without a fault of its upstream. */
const GOOD_ENDS: ReadonlySet<string | undefined> = new Set(["delivered", "lost", "abandoned"]);

export function look(text: string, atUs: number, wallMs: number): Look {
  const page = new Map([
    ...parseScrapedPage(text, PREFIX),
    ...parseScrapedPage(text, "process_start_time"),
  ]);
  return { page, atUs, wallMs };
}

/** @param before undefined for all since the start. */
export function takeTop(now: Look, before?: Look): TopSnapshot {
  const isRestarted = before !== undefined && startOf(now) !== startOf(before);
  const from = isRestarted ? undefined : before;
  const windowS =
    from === undefined ? now.wallMs / 1_000 - startOf(now) : (now.atUs - from.atUs) / 1e6;
  return new Comparison(now, from, Math.max(windowS, 1e-3)).snapshot();
}

function startOf({ page, wallMs }: Look): number {
  return page.get("process_start_time_seconds")?.[0]?.value ?? wallMs / 1_000;
}

type Matches = (labels: ScrapedSample["labels"]) => boolean;

class Comparison {
  readonly #now: ScrapedPage;
  readonly #before: ScrapedPage;
  readonly #isSinceStart: boolean;
  readonly #windowS: number;

  constructor(now: Look, before: Look | undefined, windowS: number) {
    this.#now = now.page;
    this.#before = before?.page ?? new Map();
    this.#isSinceStart = before === undefined;
    this.#windowS = windowS;
  }

  snapshot(): TopSnapshot {
    const limit = this.#samples("admission_limit")[0]?.value;
    return {
      windowS: this.#windowS,
      isSinceStart: this.#isSinceStart,
      version: this.#samples("info")[0]?.labels.version ?? "?",
      inFlight: this.#level("in_flight"),
      requestsPerS: this.#rate("requests_total"),
      refusedPerS: this.#rate("refused_total"),
      limit,
      lagP99: this.#quantile(0.99, "event_loop_lag_seconds"),
      linesDropped: this.#delta("access_log_lines_total", ({ result }) => result === "dropped"),
      tracesDropped: this.#delta("otlp_traces_total", ({ result }) => result !== "sent"),
      models: this.#samples("model_in_flight").map(({ labels, value }) => ({
        model: labels.model ?? "",
        inFlight: value,
      })),
      lanes: this.#lanes(),
      rows: this.#rows(),
    };
  }

  #lanes(): TopLane[] {
    return this.#samples("queue_depth").map(({ labels, value }) => {
      const isIt: Matches = ({ lane }) => lane === labels.lane;
      return {
        lane: labels.lane ?? "",
        queued: value,
        oldestS: this.#level("queue_oldest_seconds", isIt),
        inFlight: this.#level("lane_in_flight", isIt),
        waitP99: this.#quantile(0.99, "queue_wait_seconds", isIt),
      };
    });
  }

  /** Every pair that is configured or was seen; in the order of the models, the busiest upstream first. */
  #rows(): TopRow[] {
    const pairs = new Map<string, [string, string]>();
    for (const name of ["breaker_state", "e2e_seconds_count"]) {
      for (const { labels } of this.#samples(name)) {
        const { model = "", upstream = "" } = labels;
        // Requests that never got as far as an upstream are in the sums above.
        if (upstream !== "none") pairs.set(`${model}\0${upstream}`, [model, upstream]);
      }
    }
    const order = [...new Set([...pairs.values()].map(([model]) => model))];
    return [...pairs.values()]
      .map(([model, upstream]) => this.#row(model, upstream))
      .sort(
        (a, b) =>
          order.indexOf(a.model) - order.indexOf(b.model) ||
          b.callsPerS - a.callsPerS ||
          (a.upstream < b.upstream ? -1 : 1),
      );
  }

  #row(model: string, upstream: string): TopRow {
    const isIt: Matches = (labels) => labels.model === model && labels.upstream === upstream;
    const ofIt: Matches = (labels) => labels.upstream === upstream;
    const attempts = (matches: Matches): number =>
      this.#delta("attempts_total", (labels) => isIt(labels) && matches(labels));
    const begun = attempts(() => true);
    const hedges = attempts(({ cause }) => cause === "hedge");
    const again = attempts(({ cause }) => cause !== "first") - hedges;
    const streams = this.#delta("ttft_seconds_count", isIt);
    const states = this.#samples("breaker_state").filter(({ labels }) => isIt(labels));
    const worst = Math.max(0, ...states.map(({ value }) => value));
    return {
      model,
      upstream,
      callsPerS: this.#rate("e2e_seconds_count", isIt),
      ttftP50: this.#quantile(0.5, "ttft_seconds", isIt),
      ttftP99: this.#quantile(0.99, "ttft_seconds", isIt),
      itlP99: this.#quantile(0.99, "itl_seconds", isIt),
      stalledShare: this.#delta("stalled_streams_total", isIt) / streams,
      retriesPerS: again / this.#windowS,
      hedgesPerS: hedges / this.#windowS,
      failedShare: attempts(({ end }) => !GOOD_ENDS.has(end)) / begun,
      breaker: BREAKERS[worst] ?? "closed",
      connectionsOpen: this.#level("upstream_connections_open", ofIt),
      connectionsIdle: this.#level("upstream_connections_idle", ofIt),
    };
  }

  #samples(name: string): readonly ScrapedSample[] {
    return this.#now.get(PREFIX + name) ?? [];
  }

  #level(name: string, matches: Matches = () => true): number {
    return sum(this.#now.get(PREFIX + name), matches);
  }

  /** A counter that has gone back began anew with a reload. */
  #delta(name: string, matches: Matches = () => true): number {
    const now = this.#level(name, matches);
    const before = sum(this.#before.get(PREFIX + name), matches);
    return now < before ? now : now - before;
  }

  #rate(name: string, matches?: Matches): number {
    return this.#delta(name, matches) / this.#windowS;
  }

  #quantile(q: number, name: string, matches: Matches = () => true): BucketQuantile {
    const buckets = new Map<number, number>();
    const add = (page: ScrapedPage, sign: number): void => {
      for (const { labels, value } of page.get(`${PREFIX}${name}_bucket`) ?? []) {
        if (!matches(labels)) continue;
        const bound = labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le);
        buckets.set(bound, (buckets.get(bound) ?? 0) + sign * value);
      }
    };
    add(this.#now, 1);
    add(this.#before, -1);
    return bucketQuantile(q, buckets);
  }
}

function sum(samples: readonly ScrapedSample[] | undefined, matches: Matches): number {
  let total = 0;
  for (const { labels, value } of samples ?? []) if (matches(labels)) total += value;
  return total;
}
