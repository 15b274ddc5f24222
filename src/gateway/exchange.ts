/**
 * One call through the gateway, from the client's request to the last byte of its answer:
 *
 *     request ─► Attempt ─► head ─► Delivery ─► client
 *                   │       data ─► Delivery, and a BodyObserver on the side
 *                   └─ end or fault ─► the one outcome
 *
 * Invariant: every exchange ends once, when its Delivery has closed, with exactly one outcome; by then its attempt is over
 * or cancelled.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import { Attempt, type AttemptSink, type Fault, type UpstreamRequest } from "./attempt.ts";
import { Delivery } from "./delivery.ts";
import { type ResponseHead, responseHead } from "./headers.ts";
import { JsonObserver } from "./json-observer.ts";
import type { GatewayLimits } from "./limits.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { BodyObserver, Ending } from "./observer.ts";
import type { Route } from "./routes.ts";
import { StreamObserver } from "./stream-observer.ts";
import { incompleteError, type Outcome } from "./upstream-fault.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

export interface ExchangeContext {
  readonly pool: UpstreamPool;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
}

export interface Arrival {
  readonly route: Route;
  /** The head of the request was read. */
  readonly receivedUs: number;
}

/** A connection that was kept may have died unseen; a second one that does is no coincidence. */
const REUSE_RETRIES_MAX = 1;

export class Exchange implements AttemptSink {
  readonly #context: ExchangeContext;
  readonly #arrival: Arrival;
  readonly #delivery: Delivery;
  readonly #onClosed: (exchange: Exchange) => void;
  #request: UpstreamRequest | undefined;
  #readyUs = 0;
  #attempt: Attempt | undefined;
  #attempts = 0;
  #observer: BodyObserver | undefined;
  /** How long the client has held the upstream up: time that is not the upstream's. */
  #heldUs = 0;
  #blockedUs: number | undefined;
  #outcome: Outcome | undefined;
  #status = 0;
  #endedUs = 0;
  #requestBytes = 0;

  constructor(
    context: ExchangeContext,
    arrival: Arrival,
    response: ServerResponse,
    onClosed: (exchange: Exchange) => void,
  ) {
    this.#context = context;
    this.#arrival = arrival;
    this.#onClosed = onClosed;
    context.metrics.requestBegins();
    this.#delivery = new Delivery(response, {
      dialect: arrival.route.dialect,
      writeLimitUs: context.limits.writeUs,
      clock: context.clock,
      events: {
        onBlocked: () => this.#hold(),
        onDrained: () => this.#release(),
        onStalled: () => this.#settle("client_stalled"),
        onClosed: () => this.#close(),
      },
    });
  }

  /** The request is there, whole. */
  forward(request: UpstreamRequest): void {
    if (this.#delivery.isClosed) return;
    this.#request = request;
    this.#requestBytes = request.body?.length ?? 0;
    this.#readyUs = this.#context.clock.nowUs();
    this.#try();
  }

  /** Ends it now: with an error in the client's dialect, as far as that is still possible. */
  cut(error: ManxError, outcome: Outcome): void {
    this.#attempt?.cancel();
    this.#settle(outcome);
    if (!this.#delivery.hasHead) this.#status = error.status;
    this.#delivery.fail(error);
  }

  #try(): void {
    const { pool, limits, clock, metrics } = this.#context;
    this.#attempts += 1;
    this.#attempt = new Attempt({ pool, limits, clock }, this.#request!, this);
    this.#attempt.start({ fresh: this.#attempts > 1 });
    if (!this.#attempt.isWarm) return;
    metrics.requestDispatched(this.#arrival.route.name, clock.nowUs() - this.#readyUs);
  }

  onHead(status: number, rawHeaders: string[], nowUs: number): void {
    const { route, receivedUs } = this.#arrival;
    const { metrics } = this.#context;
    metrics.responseBegins(route.name, nowUs - receivedUs);
    this.#status = status;
    const head = responseHead(rawHeaders, this.#marks(nowUs));
    if (status === 200) this.#observe(head);
    this.#delivery.head(status, head.headers, head.isEventStream && !head.isEncoded);
  }

  onData(chunk: Buffer, nowUs: number): void {
    // Read before it is written: a write may begin a time that does not count.
    const atUs = nowUs - this.#heldUs;
    this.#delivery.data(chunk);
    this.#observer?.push(chunk, atUs);
  }

  onEnd(last: Buffer | undefined, nowUs: number): void {
    const atUs = nowUs - this.#heldUs;
    if (last !== undefined) this.#observer?.push(last, atUs);
    const ending = this.#observer?.end(atUs) ?? "unknown";
    if (ending !== "incomplete") {
      this.#endWell(ending, last);
      return;
    }
    if (last !== undefined) this.#delivery.data(last);
    this.cut(incompleteError("an end of the connection before its time"), "stream_incomplete");
  }

  onFault(fault: Fault): void {
    if (fault.isReuseRace && this.#attempts <= REUSE_RETRIES_MAX && !this.#delivery.isClosed) {
      this.#context.metrics.retryBegins("reuse_race");
      this.#try();
      return;
    }
    const ending = this.#observer?.end(this.#context.clock.nowUs() - this.#heldUs) ?? "unknown";
    // What is cut after it was whole, or after an error that the upstream told itself, lacks nothing.
    if (ending === "incomplete" || ending === "unknown") this.cut(fault.error, fault.outcome);
    else this.#endWell(ending);
  }

  #endWell(ending: Ending, last?: Buffer): void {
    if (ending === "terminal_missing") {
      this.#context.metrics.terminalMissing(this.#arrival.route.name);
    }
    if (ending === "error") this.#settle("stream_error");
    else if (ending === "empty") this.#settle("stream_empty");
    else this.#settle(this.#status < 400 ? "ok" : "upstream_status");
    this.#delivery.end(last);
  }

  #hold(): void {
    this.#blockedUs = this.#context.clock.nowUs();
    this.#attempt?.pause();
  }

  #release(): void {
    this.#heldUs += this.#context.clock.nowUs() - (this.#blockedUs ?? 0);
    this.#blockedUs = undefined;
    this.#attempt?.resume();
  }

  /** For the client's own timeline: what the gateway took, what the upstream took, and on which connection. */
  #marks(nowUs: number): string[] {
    const attempt = this.#attempt!;
    const ownMs = (attempt.dispatchedUs - this.#readyUs) / 1_000;
    const upstreamMs = (nowUs - attempt.dispatchedUs) / 1_000;
    return [
      "server-timing",
      `manx;dur=${ownMs.toFixed(3)}, upstream;dur=${upstreamMs.toFixed(3)}`,
      "x-manx-connection",
      attempt.isWarm ? "reused" : "new",
      "x-manx-attempts",
      String(this.#attempts),
    ];
  }

  #observe(head: ResponseHead): void {
    const { route, receivedUs } = this.#arrival;
    if (head.isEncoded) {
      if (head.isEventStream) this.#context.metrics.streamUnread("encoded");
    } else if (head.isEventStream) {
      if (route.format !== null) this.#observer = new StreamObserver(route.format, receivedUs);
    } else if (head.isJson && head.isUnsized) this.#observer = new JsonObserver();
  }

  /** The first outcome counts. */
  #settle(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#endedUs = this.#context.clock.nowUs();
  }

  #close(): void {
    this.#settle("client_cancelled");
    this.#attempt?.cancel();
    const { route, receivedUs } = this.#arrival;
    const { metrics } = this.#context;
    metrics.requestEnds({
      route: route.name,
      status: this.#status,
      outcome: this.#outcome!,
      e2eUs: this.#endedUs - receivedUs,
      requestBytes: this.#requestBytes,
      responseBytes: this.#delivery.bytes,
    });
    if (this.#observer instanceof StreamObserver) {
      metrics.streamEnds(route.name, this.#observer.metrics);
      if (this.#observer.faults > 0) metrics.streamUnread("faulty");
    }
    this.#onClosed(this);
  }
}
