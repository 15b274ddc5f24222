/**
 * What is counted of each call, as plain numbers until somebody looks. TTFT and ITL are two histograms, never one latency:
 * the first says how long requests queue and prefill, the second how decoding runs, and their causes differ. Labels come
 * from closed lists (routes, models, upstreams, lanes, outcomes) or are capped (tenants), so the number of series is
 * bounded.
 */
import { US_PER_S } from "../../core/index.ts";
import { type CallListener, type CallRecord, queuedUs } from "./call-record.ts";
import {
  E2E_BOUNDS_S,
  ITL_BOUNDS_S,
  OWN_BOUNDS_S,
  TTFT_BOUNDS_S,
  WAIT_BOUNDS_S,
} from "./histogram-bounds.ts";
import { LabelBook } from "./label-book.ts";
import type { MetricPage } from "./metric-page.ts";
import type { ExemplarLink } from "./time-histogram.ts";

const TENANTS_MAX = 100;

/** Times of one stream, each into its own histogram. */
function timeFamilies(page: MetricPage, call: LabelBook) {
  return {
    ttft: page.times(
      "ttft_seconds",
      "Request received to the first output of the model, event streams only",
      TTFT_BOUNDS_S,
      call,
    ),
    itl: page.times(
      "itl_seconds",
      "Gap between consecutive tokens; a chunk of k tokens gives k samples",
      ITL_BOUNDS_S,
      call,
    ),
    ttfb: page.times(
      "ttfb_seconds",
      "Request received to the head of the upstream's response",
      TTFT_BOUNDS_S,
      call,
    ),
    e2e: page.times(
      "e2e_seconds",
      "Request received to the last byte handed to the client",
      E2E_BOUNDS_S,
      call,
    ),
    own: page.times(
      "overhead_seconds",
      "Request received whole to its dispatch on a warm connection, without its wait in a queue: the gateway's own time",
      OWN_BOUNDS_S,
      ["route"],
    ),
    queue: page.times(
      "queue_wait_seconds",
      "Wait for admission, of requests that were let in",
      WAIT_BOUNDS_S,
      ["lane"],
    ),
  };
}

function callFamilies(page: MetricPage, call: LabelBook) {
  return {
    requests: page.counter("requests_total", "Requests by how they ended", [
      "route",
      "model",
      "status",
      "outcome",
    ]),
    refused: page.counter("refused_total", "Requests that the gateway did not take on, by reason", [
      "reason",
    ]),
    stalls: page.counter("stalls_total", "Stalls within streams", call),
    stalledStreams: page.counter("stalled_streams_total", "Streams with a stall", call),
    stalledSeconds: page.counter("stalled_seconds_total", "Time within stalls", call),
    heldSeconds: page.counter(
      "client_held_seconds_total",
      "Time for which clients did not take what was there for them; part of no TTFT or ITL",
      ["route"],
    ),
    terminalMissing: page.counter(
      "terminal_missing_total",
      "Streams that were complete but lacked their terminal frame",
      ["route"],
    ),
    warmUps: page.counter(
      "warm_up_requests_total",
      "Requests that callers marked as warm-up; they are in no other figure of calls",
      ["route", "model"],
    ),
    unread: page.counter(
      "unread_streams_total",
      "Event streams that could not be read on the side, or not wholly; they were forwarded",
      ["reason"],
    ),
    bodyBytes: page.counter("body_bytes_total", "Body bytes by direction", ["direction"]),
  };
}

function tokenFamilies(page: MetricPage, tenant: LabelBook) {
  return {
    tokens: page.counter(
      "tokens_total",
      "Tokens as the upstream counted them; kind cached is part of kind input",
      ["model", "upstream", "kind"],
    ),
    usageMissing: page.counter(
      "usage_missing_total",
      "Delivered answers whose upstream did not say how many tokens they are",
      ["model", "upstream"],
    ),
    tenantRequests: page.counter("tenant_requests_total", "Requests by tenant", tenant),
    tenantTokens: page.counter("tenant_tokens_total", "Input and output tokens", tenant),
  };
}

/** What only the exchange itself sees. */
export interface StreamSeen {
  readonly itlUs: readonly number[];
  readonly isTerminalMissing: boolean;
  /** Why it could not be read on the side, or not wholly. */
  readonly unread: "encoded" | "faulty" | undefined;
  /** Of a stream whose first output was not told when it came; null for none. */
  readonly lateTtftUs: number | null;
}

/** Of one model and upstream, by kind. */
interface TokenSeries {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export class CallMetrics implements CallListener {
  /** Shared by the families of a call, so that its labels are looked up once. */
  readonly #call = new LabelBook(["route", "model", "upstream"]);
  readonly #tenant = new LabelBook(["tenant"], TENANTS_MAX);
  readonly #times;
  readonly #calls;
  readonly #counts;
  readonly #requestBodies: number;
  readonly #responseBodies: number;
  /** By the number that `usageMissing` has for a model and upstream: one search a call instead of three. */
  readonly #tokens: TokenSeries[] = [];

  constructor(page: MetricPage) {
    this.#times = timeFamilies(page, this.#call);
    this.#calls = callFamilies(page, this.#call);
    this.#counts = tokenFamilies(page, this.#tenant);
    const { book } = this.#calls.bodyBytes;
    this.#requestBodies = book.at("request");
    this.#responseBodies = book.at("response");
  }

  /** An upstream has begun to answer. */
  firstHead(labels: readonly [string, string, string], ttfbUs: number): void {
    this.#times.ttfb.record(this.#call.at(...labels), ttfbUs);
  }

  /** The model has begun to answer a stream; its other figures come with its end. */
  firstOutput(labels: readonly [string, string, string], ttftUs: number, link: ExemplarLink): void {
    this.#times.ttft.record(this.#call.at(...labels), ttftUs, link);
  }

  callEnds(record: CallRecord): void {
    const { route, model, upstream, receivedUs } = record;
    const { requests, refused, heldSeconds, bodyBytes, warmUps } = this.#calls;
    if (record.isWarmUp === true) {
      warmUps.add(warmUps.book.at(route, model));
      return;
    }
    const index = this.#call.at(route, model, upstream);
    requests.add(requests.book.at(route, model, String(record.status), record.outcome));
    if (record.outcome === "refused") refused.add(refused.book.at(reasonOf(record)));
    this.#times.e2e.record(index, record.endedUs - receivedUs, linkOf(record));
    if (record.heldUs > 0) heldSeconds.add(heldSeconds.book.at(route), record.heldUs / US_PER_S);
    bodyBytes.add(this.#requestBodies, record.requestBytes);
    bodyBytes.add(this.#responseBodies, record.responseBytes);
    this.#countWait(record);
    this.#countStalls(index, record);
    this.#countTokens(record);
  }

  /** What is not one figure a call. */
  streamEnds(record: CallRecord, seen: StreamSeen): void {
    if (record.isWarmUp === true) return;
    const { route, model, upstream } = record;
    const { terminalMissing, unread } = this.#calls;
    const { itl, ttft } = this.#times;
    const index = this.#call.at(route, model, upstream);
    itl.recordAll(index, seen.itlUs);
    if (seen.lateTtftUs !== null) ttft.record(index, seen.lateTtftUs, linkOf(record));
    if (seen.isTerminalMissing) terminalMissing.add(terminalMissing.book.at(route));
    if (seen.unread !== undefined) unread.add(unread.book.at(seen.unread));
  }

  #countWait(record: CallRecord): void {
    const { own, queue } = this.#times;
    const { lane, route, readyUs, sentUs, attempts } = record;
    const waitedUs = queuedUs(record);
    if (lane !== undefined && record.admittedUs !== undefined) {
      queue.record(queue.book.at(lane), waitedUs);
    }
    if (
      readyUs === undefined ||
      sentUs === undefined ||
      attempts[0]?.connection?.reuse !== "reused"
    )
      return;
    own.record(own.book.at(route), sentUs - readyUs - waitedUs);
  }

  #countStalls(index: number, { stream }: CallRecord): void {
    if (stream === undefined) return;
    const { count, stalledUs } = stream.stalls;
    // Also when it is none: a share of streams is 0 and not unknown as long as nothing has stalled.
    this.#calls.stalls.add(index, count);
    this.#calls.stalledStreams.add(index, count > 0 ? 1 : 0);
    this.#calls.stalledSeconds.add(index, stalledUs / US_PER_S);
  }

  #countTokens({ tenant, model, upstream, usage, outcome }: CallRecord): void {
    const { tokens, usageMissing, tenantRequests, tenantTokens } = this.#counts;
    const of = this.#tenant.at(tenant);
    tenantRequests.add(of);
    if (usage === undefined) {
      if (outcome === "ok") usageMissing.add(usageMissing.book.at(model, upstream));
      return;
    }
    const { input, cached, output } = this.#tokensOf(model, upstream);
    tokens.add(input, usage.inputTokens);
    tokens.add(cached, usage.cachedTokens);
    tokens.add(output, usage.outputTokens);
    tenantTokens.add(of, usage.inputTokens + usage.outputTokens);
  }

  #tokensOf(model: string, upstream: string): TokenSeries {
    const { tokens, usageMissing } = this.#counts;
    const pair = usageMissing.book.at(model, upstream);
    let series = this.#tokens[pair];
    if (series === undefined) {
      const of = (kind: string): number => tokens.book.at(model, upstream, kind);
      series = { input: of("input"), cached: of("cached"), output: of("output") };
      this.#tokens[pair] = series;
    }
    return series;
  }
}

/** Of a whole record a histogram would keep all. */
function linkOf({ requestId, trace, wallMs }: CallRecord): ExemplarLink {
  return { requestId, trace, wallMs };
}

/** Admission's own word, or the error's: both are closed lists. */
function reasonOf({ refusal, error }: CallRecord): string {
  return refusal?.replaceAll("-", "_") ?? error?.replace(/^MANX_/, "").toLowerCase() ?? "unknown";
}
