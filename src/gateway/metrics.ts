/**
 * What the gateway shows at /metrics. TTFT and ITL are two histograms, never one latency: the first says how long requests
 * queue and prefill, the second how decoding runs, and their causes differ. Labels come from closed lists (route, outcome)
 * or are bounded by their nature (status), so the number of series is bounded.
 */
import { Counter, Gauge, Registry } from "prom-client";
import { US_PER_S } from "../core/index.ts";
import type { BeginCause } from "../policy/index.ts";
import type { StreamMetrics } from "../stream/index.ts";
import { GuardMetrics } from "./guardrails/guard-metrics.ts";
import { RouteHistogram } from "./route-histogram.ts";
import type { Outcome } from "./upstream-fault.ts";
import type { PoolCounts, UpstreamPool } from "./upstream-pool.ts";

/** About ten a decade around what matters: a factor of 1.25 where budgets lie, more at the ends. */
const TTFT_BUCKETS_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32,
  0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.5, 8, 10, 15, 20, 30, 60, 120, 300,
];
const ITL_BUCKETS_S = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0065, 0.008, 0.01, 0.0125, 0.016, 0.02,
  0.025, 0.032, 0.04, 0.05, 0.065, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.8, 1, 2, 5,
  10, 30, 60,
];
const E2E_BUCKETS_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15,
  20, 30, 45, 60, 90, 120, 300, 600,
];
const OVERHEAD_BUCKETS_S = [
  0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025,
  0.1,
];

/** Name, help, and what is added up over the pools. */
const POOL_COUNTERS: readonly [string, string, (counts: PoolCounts) => number][] = [
  ["connections_opened_total", "Upstream connections opened", ({ opened }) => opened],
  ["connections_warmed_total", "Of these, ahead of need", ({ warmed }) => warmed],
  [
    "connections_resumed_total",
    "Of these, with a TLS session of an earlier connection",
    ({ resumed }) => resumed,
  ],
  ["connections_multiplexed_total", "Of these, over HTTP/2", ({ multiplexed }) => multiplexed],
  ["connections_failed_total", "Could not be opened", ({ failed }) => failed],
  ["dns_seconds_total", "In DNS, for the connections opened", ({ dnsUs }) => dnsUs / US_PER_S],
  ["tcp_seconds_total", "In TCP handshakes of those", ({ tcpUs }) => tcpUs / US_PER_S],
  ["tls_seconds_total", "In TLS handshakes of those", ({ tlsUs }) => tlsUs / US_PER_S],
  ["requests_on_warm_total", "Requests on an open connection", ({ reused }) => reused],
  ["reuse_races_total", "Kept connections that a request found dead", ({ raced }) => raced],
];

export interface EndedRequest {
  readonly route: string;
  /** 0 if no head was sent. */
  readonly status: number;
  readonly outcome: Outcome;
  readonly e2eUs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

export class GatewayMetrics {
  readonly #registry = new Registry();
  readonly guards = new GuardMetrics(this.#registry);
  readonly #inFlight = this.#gauge("in_flight", "Requests that are being forwarded");
  readonly #requests = this.#counter("requests_total", "Requests by how they ended", [
    "route",
    "status",
    "outcome",
  ]);
  readonly #ttft = this.#histogram(
    "ttft_seconds",
    "Request received to the first output of the model, event streams only",
    TTFT_BUCKETS_S,
  );
  readonly #itl = this.#histogram(
    "itl_seconds",
    "Gap between consecutive tokens; a chunk of k tokens gives k samples",
    ITL_BUCKETS_S,
  );
  readonly #ttfb = this.#histogram(
    "ttfb_seconds",
    "Request received to the head of the upstream's response",
    TTFT_BUCKETS_S,
  );
  readonly #e2e = this.#histogram(
    "e2e_seconds",
    "Request received to the last byte handed to the client",
    E2E_BUCKETS_S,
  );
  readonly #overhead = this.#histogram(
    "overhead_seconds",
    "Request received whole to its dispatch on a warm connection: the gateway's own time",
    OVERHEAD_BUCKETS_S,
  );
  readonly #stalls = this.#counter("stalls_total", "Stalls within streams", ["route"]);
  readonly #stalled = this.#counter("stalled_streams_total", "Streams with a stall", ["route"]);
  readonly #stalledSeconds = this.#counter("stalled_seconds_total", "Time within stalls", [
    "route",
  ]);
  readonly #degraded = this.#counter(
    "terminal_missing_total",
    "Streams that were complete but lacked their terminal frame",
    ["route"],
  );
  readonly #unread = this.#counter(
    "unread_streams_total",
    "Event streams that could not be read on the side, or not wholly; they were forwarded",
    ["reason"],
  );
  readonly #retries = this.#counter("retries_total", "Attempts beyond the first", ["reason"]);
  readonly #bodyBytes = this.#counter("body_bytes_total", "Body bytes by direction", ["direction"]);
  // Plain numbers until somebody looks: a labelled counter costs about a microsecond a call.
  #inFlightNow = 0;
  #requestBytes = 0;
  #responseBytes = 0;

  /** @param pools those of now, asked whenever somebody looks. */
  constructor(pools: () => readonly UpstreamPool[]) {
    const sum = (read: (pool: UpstreamPool) => number): number => {
      return pools().reduce((total, pool) => total + read(pool), 0);
    };
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({
        name: `manx_gateway_upstream_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read());
        },
      });
    };
    gauge("connections_open", "Open upstream connections", () => sum((pool) => pool.open));
    gauge("connections_idle", "Open upstream connections without a request", () =>
      sum((pool) => pool.idle),
    );
    for (const [name, help, of] of POOL_COUNTERS) {
      new Counter({
        name: `manx_gateway_upstream_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          this.reset();
          this.inc(sum(({ counts }) => of(counts)));
        },
      });
    }
  }

  get inFlight(): number {
    return this.#inFlightNow;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    this.#inFlight.set(this.#inFlightNow);
    this.#bodyBytes.reset();
    this.#bodyBytes.inc({ direction: "request" }, this.#requestBytes);
    this.#bodyBytes.inc({ direction: "response" }, this.#responseBytes);
    return this.#registry.metrics();
  }

  requestBegins(): void {
    this.#inFlightNow += 1;
  }

  requestDispatched(route: string, overheadUs: number): void {
    this.#overhead.record(route, overheadUs);
  }

  retryBegins(reason: BeginCause): void {
    this.#retries.inc({ reason });
  }

  responseBegins(route: string, ttfbUs: number): void {
    this.#ttfb.record(route, ttfbUs);
  }

  streamUnread(reason: "encoded" | "faulty"): void {
    this.#unread.inc({ reason });
  }

  /** TTFT and ITL of one stream, each into its own histogram. */
  streamEnds(route: string, stream: StreamMetrics): void {
    if (stream.ttftUs !== null) this.#ttft.record(route, stream.ttftUs);
    this.#itl.recordAll(route, stream.itlUs);
    const { count, stalledUs } = stream.stalls;
    if (count === 0) return;
    const labels = { route };
    this.#stalls.inc(labels, count);
    this.#stalled.inc(labels);
    this.#stalledSeconds.inc(labels, stalledUs / US_PER_S);
  }

  terminalMissing(route: string): void {
    this.#degraded.inc({ route });
  }

  requestEnds(ended: EndedRequest): void {
    const { route } = ended;
    this.#inFlightNow -= 1;
    this.#requests.inc({ route, status: String(ended.status), outcome: ended.outcome });
    this.#e2e.record(route, ended.e2eUs);
    this.#requestBytes += ended.requestBytes;
    this.#responseBytes += ended.responseBytes;
  }

  /** A request that was answered by the gateway itself. */
  requestRefused(route: string, status: number): void {
    this.#requests.inc({ route, status: String(status), outcome: "refused" });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name: `manx_gateway_${name}`, help, registers: [this.#registry] });
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({
      name: `manx_gateway_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
    });
  }

  #histogram(name: string, help: string, boundsS: readonly number[]): RouteHistogram {
    return new RouteHistogram(this.#registry, `manx_gateway_${name}`, help, boundsS);
  }
}
