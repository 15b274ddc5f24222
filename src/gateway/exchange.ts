/**
 * One call through the gateway, from the client's request to the last byte of its answer. The decisions are `Call`'s; this
 * is its driver: it begins and cancels attempts, tells the call what they bring, and writes what it may deliver.
 *
 *     request ─► Call ─► Attempt ─► Reception ─┬─ content ─► Call ─► deliver ─► Delivery ─► client
 *                 ▲ ▲                          └─ failed ──► Call ─► begin another | fail
 *                 │ └── one timer, at the call's next due instant
 *                 └──── the client left
 *
 * Invariant: every exchange ends once, when its Delivery has closed, with exactly one outcome; by then all its attempts are
 * over or cancelled, and its timer is.
 */
import type { ServerResponse } from "node:http";
import type { Cancel, Clock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import {
  Call,
  type CallDecision,
  type CallFailure,
  type Failure,
  plainFailure,
  readRetryAfterUs,
} from "../policy/index.ts";
import type { UpstreamError } from "../stream/index.ts";
import { Attempt, type Fault } from "./attempt.ts";
import { CallIntent, type ClientRequest } from "./call-intent.ts";
import { Delivery } from "./delivery.ts";
import { DueTimer } from "./due-timer.ts";
import { type EarlyEnd, ownEnd, upstreamEnd } from "./early-end.ts";
import { findHeader, refusalHead } from "./headers.ts";
import type { GatewayLimits } from "./limits.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { ModelRoutes } from "./model-routes.ts";
import type { Ending } from "./observer.ts";
import { Reception, type ReceptionEvents } from "./reception.ts";
import type { Route } from "./routes.ts";
import { timelineMarks } from "./timeline-marks.ts";
import { finalError, type Outcome, outcomeOf, refusalHeaders } from "./upstream-fault.ts";

export interface ExchangeContext {
  readonly routes: ModelRoutes;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  /** Name of this gateway in `Via`. */
  readonly via: string;
}

export interface Arrival {
  readonly route: Route;
  /** The head of the request was read. */
  readonly receivedUs: number;
}

interface Running {
  readonly attempt: Attempt;
  readonly reception: Reception;
}

export class Exchange implements ReceptionEvents {
  readonly #context: ExchangeContext;
  readonly #arrival: Arrival;
  readonly #delivery: Delivery;
  readonly #onClosed: (exchange: Exchange) => void;
  #intent: CallIntent | undefined;
  #call: Call | undefined;
  readonly #running = new Map<number, Running>();
  /** Whose answer the client gets. */
  #winner: Running | undefined;
  /** The last attempt that was refused: its answer is the client's if no other comes. */
  #refused: Reception | undefined;
  #hasHead = false;
  #errorInBand: UpstreamError | undefined;
  #fault: ManxError | undefined;
  #readyUs = 0;
  /** How long the client has held the upstream up: time that is not the upstream's. */
  #heldUs = 0;
  #blockedUs: number | undefined;
  readonly #timer: DueTimer;
  #cancelGate: Cancel | undefined;
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
    this.#timer = new DueTimer(context.clock, () => {
      if (this.#outcome === undefined) this.#obey(this.#call!.advance(context.clock.nowUs()));
    });
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

  /**
   * The request is there, whole.
   * @throws MANX_REQUEST_INVALID, MANX_MODEL_UNKNOWN
   */
  forward(request: ClientRequest): void {
    if (this.#delivery.isClosed) return;
    const { clock, routes } = this.#context;
    this.#requestBytes = request.body.length;
    this.#readyUs = clock.nowUs();
    const { route, receivedUs } = this.#arrival;
    const intent = new CallIntent(route, request, routes, receivedUs);
    this.#intent = intent;
    this.#call = new Call(intent.call, intent.model.call);
    this.#obey(this.#call.start(this.#readyUs));
    if (intent.call.isStream) this.#armGate();
  }

  /** Ends it now: with an error in the client's dialect, as far as that is still possible. */
  cut(error: ManxError, outcome: Outcome): void {
    this.#settle(outcome);
    this.#abandon();
    this.#endEarly(ownEnd(error, this.#arrival.route.dialect));
  }

  #obey(decisions: readonly CallDecision[]): void {
    for (const decision of decisions) {
      if (decision.do === "begin") this.#begin(decision);
      else if (decision.do === "cancel") this.#cancel(decision.attempt);
      else if (decision.do === "deliver") this.#deliver(decision.attempt);
      else this.#fail(decision.failure);
    }
    this.#arm();
  }

  #begin({ attempt: number, target, fresh, cause }: CallDecision & { do: "begin" }): void {
    const { clock, metrics, via } = this.#context;
    const intent = this.#intent!;
    const line = intent.model.lines[target]!;
    if (cause !== "first") metrics.retryBegins(cause);
    const { route, receivedUs } = this.#arrival;
    const reception = new Reception(
      {
        attempt: number,
        format: route.format,
        receivedUs,
        heldUs: () => this.#heldUs,
        nowUs: () => clock.nowUs(),
      },
      this,
    );
    const request = intent.requestFor(line, via);
    const attempt = new Attempt({ pool: line.upstream.pool, clock }, request, reception);
    this.#running.set(number, { attempt, reception });
    attempt.start({ fresh });
  }

  #cancel(number: number): void {
    this.#running.get(number)?.attempt.cancel();
    this.#running.delete(number);
  }

  #deliver(number: number): void {
    const running = this.#running.get(number)!;
    this.#winner = running;
    this.#cancelGate?.();
    const { reception } = running;
    this.#writeHead(reception, number);
    const held = reception.deliver();
    if (held.length > 0) this.#delivery.data(held);
  }

  #writeHead(reception: Reception, number: number): void {
    if (this.#delivery.hasHead) return;
    const head = reception.head!;
    this.#status = reception.status;
    const headers = [...head.headers, ...this.#marks(number)];
    this.#delivery.head(this.#status, headers, head.isEventStream && !head.isEncoded);
  }

  #fail(failure: CallFailure): void {
    if (failure.kind === "status" && this.#refused !== undefined && !this.#delivery.hasHead) {
      this.#settle("upstream_status");
      this.#answerRefusal(this.#refused, failure);
      return;
    }
    const { dialect } = this.#arrival.route;
    const headers = refusalHeaders(failure, this.#attemptsMade);
    const inBand = this.#errorInBand;
    if (failure.kind === "stream_error" && inBand !== undefined) {
      this.#settle("stream_error");
      this.#endEarly(upstreamEnd(inBand, dialect, headers));
      return;
    }
    const { timeouts } = this.#intent!.model.call.policy;
    const error = finalError(failure, this.#fault, timeouts);
    this.#settle(outcomeOf(failure, error));
    this.#endEarly(ownEnd(error, dialect, headers));
  }

  #endEarly(end: EarlyEnd): void {
    if (!this.#delivery.hasHead) this.#status = end.status;
    this.#delivery.fail(end);
  }

  /** The upstream's own words, with what a caller's SDK must know to leave the retries to this gateway. */
  #answerRefusal(refused: Reception, failure: CallFailure): void {
    const body = refused.takeHeld();
    this.#status = refused.status;
    const headers = [
      ...refusalHead(refused.head!.headers, body.length),
      ...refusalHeaders(failure, this.#attemptsMade),
      ...this.#marks(failure.attempt ?? 0),
    ];
    this.#delivery.head(refused.status, headers, false);
    this.#delivery.end(body);
  }

  get #attemptsMade(): number {
    return this.#call?.records.length ?? 0;
  }

  // What the attempts bring.

  sent(attempt: number, nowUs: number): void {
    this.#call!.sent(attempt, nowUs);
    if (attempt === 0 && this.#running.get(0)?.attempt.isWarm !== false) {
      this.#context.metrics.requestDispatched(this.#arrival.route.name, nowUs - this.#readyUs);
    }
    this.#arm();
  }

  head(attempt: number, status: number, nowUs: number): void {
    this.#noteFirstHead(nowUs);
    this.#call!.head(attempt, status, nowUs);
    this.#arm();
  }

  content(attempt: number, nowUs: number): void {
    this.#obey(this.#call!.content(attempt, nowUs));
  }

  #noteFirstHead(nowUs: number): void {
    if (this.#hasHead) return;
    this.#hasHead = true;
    const { route, receivedUs } = this.#arrival;
    this.#context.metrics.responseBegins(route.name, nowUs - receivedUs);
  }

  read(attempt: number, nowUs: number, isProgress: boolean, isThinking: boolean): void {
    this.#call!.read(attempt, nowUs, isProgress, isThinking);
  }

  bytes(chunk: Buffer): void {
    this.#delivery.data(chunk);
  }

  complete(attempt: number, ending: Ending, last: Buffer | undefined, nowUs: number): void {
    this.#obey(this.#call!.complete(attempt, nowUs));
    this.#running.delete(attempt);
    if (ending === "terminal_missing") {
      this.#context.metrics.terminalMissing(this.#arrival.route.name);
    }
    if (ending === "error") this.#settle("stream_error");
    else if (ending === "empty") this.#settle("stream_empty");
    else this.#settle("ok");
    this.#delivery.end(last);
  }

  refused(attempt: number, nowUs: number): void {
    const { attempt: running, reception } = this.#running.get(attempt)!;
    const { rawHeaders, status } = reception;
    this.#noteFirstHead(nowUs);
    this.#refused = reception.isWhole ? reception : undefined;
    // A body that is larger than any error is not waited for.
    running.cancel();
    this.#running.delete(attempt);
    const should = findHeader(rawHeaders, "x-should-retry");
    const failure: Failure = {
      kind: "status",
      status,
      retryAfterUs: readRetryAfterUs(
        (name) => findHeader(rawHeaders, name) || undefined,
        this.#context.clock.wallMs(),
      ),
      shouldRetry: should === "true" ? true : should === "false" ? false : undefined,
    };
    this.#obey(this.#call!.failed(attempt, failure, nowUs));
  }

  errorInBand(attempt: number, error: UpstreamError, nowUs: number): void {
    this.#errorInBand = error;
    this.#cancel(attempt);
    const failure = plainFailure("stream_error", error.status ?? 500);
    this.#obey(this.#call!.failed(attempt, failure, nowUs));
  }

  fault(attempt: number, fault: Fault, nowUs: number): void {
    this.#fault = fault.error;
    this.#running.delete(attempt);
    this.#obey(this.#call!.failed(attempt, plainFailure(fault.kind), nowUs));
  }

  // Time.

  #arm(): void {
    if (this.#call !== undefined && this.#outcome === undefined) this.#timer.arm(this.#call.dueUs);
  }

  /** A model may think for longer than its caller waits for a head: then the head goes out alone. */
  #armGate(): void {
    const { clock, limits } = this.#context;
    if (limits.gateUs === 0 || this.#outcome !== undefined || this.#winner !== undefined) return;
    this.#cancelGate = clock.at(this.#readyUs + limits.gateUs, () => {
      for (const [number, { reception }] of this.#running) {
        if (reception.head === undefined || reception.stream === undefined) continue;
        this.#writeHead(reception, number);
        return;
      }
    });
  }

  #hold(): void {
    const nowUs = this.#context.clock.nowUs();
    this.#blockedUs = nowUs;
    this.#call?.pause(nowUs);
    this.#winner?.attempt.pause();
  }

  #release(): void {
    const nowUs = this.#context.clock.nowUs();
    this.#heldUs += nowUs - (this.#blockedUs ?? nowUs);
    this.#blockedUs = undefined;
    this.#call?.resume(nowUs);
    this.#winner?.attempt.resume();
    this.#arm();
  }

  #marks(number: number): string[] {
    const nowUs = this.#context.clock.nowUs();
    return timelineMarks({
      readyUs: this.#readyUs,
      sentUs: this.#call!.records[number]?.sentUs ?? nowUs,
      nowUs,
      isWarm: this.#running.get(number)?.attempt.isWarm ?? false,
      attempts: this.#attemptsMade,
    });
  }

  /** The first outcome counts. */
  #settle(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#endedUs = this.#context.clock.nowUs();
    this.#timer.stop();
    this.#cancelGate?.();
  }

  #abandon(): void {
    const call = this.#call;
    if (call === undefined || call.isOver) return;
    for (const decision of call.abandon(this.#context.clock.nowUs())) {
      if (decision.do === "cancel") this.#cancel(decision.attempt);
    }
  }

  #close(): void {
    this.#settle("client_cancelled");
    this.#abandon();
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
    const stream = this.#winner?.reception.stream;
    if (stream !== undefined) {
      stream.end(this.#endedUs - this.#heldUs);
      metrics.streamEnds(route.name, stream.metrics);
      if (stream.faults > 0) metrics.streamUnread("faulty");
    } else if (this.#winner?.reception.head?.isEventStream === true) {
      metrics.streamUnread("encoded");
    }
    this.#onClosed(this);
  }
}
