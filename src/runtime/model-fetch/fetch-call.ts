/**
 * Drives one `Call` with a `fetch`: begins and cancels attempts, tells the call what they bring, and gives the caller one
 * `Response`, whose body is the winner's.
 *
 *     Call ─► FetchAttempt ─► Answer ─┬─ content ─► Call ─► deliver ─► Response, AnswerBody …
 *      ▲ ▲                            └─ failed ──► Call ─► begin another | a Response that tells of it
 *      │ └── one timer, at the call's next due instant
 *      └──── the caller's signal, its deadline, a body that it cancels
 *
 * Invariants: the promise is settled once; one body at most; by the call's end every attempt is over or cancelled, and nothing
 * is held: no timer, no listener.
 */
import { type Clock, DueTimer } from "../../clock/index.ts";
import { isManxError, type ManxError, US_PER_MS } from "../../core/index.ts";
import {
  Call,
  type CallDecision,
  type CallFailure,
  type CallPolicy,
  type Failure,
  finalError,
  plainFailure,
  readRetryAfterUs,
} from "../../policy/index.ts";
import type { Ending, UpstreamError } from "../../stream/index.ts";
import { Answer, type AnswerEvents } from "./answer.ts";
import { AnswerBody, type BodyEvents } from "./answer-body.ts";
import type { CallBook } from "./call-book.ts";
import type { CallPlace } from "./call-place.ts";
import { FetchAttempt } from "./fetch-attempt.ts";
import type { Fault } from "./fetch-fault.ts";
import { answerResponse, failureFrame, failureResponse } from "./fetch-response.ts";
import type { GatewayOrigins } from "./gateway-origins.ts";
import type { ModelRequest } from "./model-request.ts";
import type { BookedRoute } from "./route-book.ts";

/** Whoever may end the call besides its reader. */
export interface CallBounds {
  /** On the clock; infinite for none. */
  readonly deadlineUs: number;
  readonly signals: readonly AbortSignal[];
}

export interface FetchCallOptions {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  readonly request: ModelRequest;
  readonly booked: BookedRoute;
  readonly gateways: GatewayOrigins;
  readonly bounds: CallBounds;
  readonly receivedUs: number;
  readonly book: CallBook;
}

interface Running {
  readonly attempt: FetchAttempt;
  readonly answer: Answer;
}

/** Of a target's recent calls of this size: what is left for a call must be more than the fastest took. */
const FASTEST_SHARE = 0.05;

const TOO_LATE: CallFailure = {
  ...{ kind: "deadline", status: 0, retryAfterUs: undefined, shouldRetry: undefined },
  ...{ attempt: undefined, isAfterContent: false },
};

export class FetchCall implements AnswerEvents, BodyEvents {
  readonly #options: FetchCallOptions;
  readonly #clock: Clock;
  readonly #call: Call;
  readonly #timer: DueTimer;
  readonly #running = new Map<number, Running>();
  readonly #policy: CallPolicy;
  #settle!: (settled: () => Response) => void;
  #winner: { readonly number: number; readonly answer: Answer } | undefined;
  #body: AnswerBody | undefined;
  #refused: Answer | undefined;
  #inBand: UpstreamError | undefined;
  #fault: ManxError | undefined;
  #pausedUs: number | undefined;
  #heldUs = 0;
  #isThinking = true;
  #letGo: (() => void)[] = [];

  constructor(options: FetchCallOptions) {
    const { clock, request, booked, gateways, bounds, receivedUs } = options;
    this.#options = options;
    this.#clock = clock;
    const isElsewhere = booked.places.every((place) => gateways.has(place.originFor(request)));
    const route = isElsewhere ? booked.once : booked.route;
    this.#policy = route.policy;
    const { inputTokens, isStream, isRepeatable } = request;
    const { deadlineUs } = bounds;
    this.#call = new Call({ inputTokens, isStream, isRepeatable, receivedUs, deadlineUs }, route);
    this.#timer = new DueTimer(clock, () => this.#obey(this.#call.advance(clock.nowUs())));
  }

  /** @returns settles once; rejects only if the caller, or what stands above it, calls it off. */
  start(): Promise<Response> {
    const made = new Promise<Response>((resolve, reject) => {
      this.#settle = (settled) => {
        try {
          resolve(settled());
        } catch (thrown) {
          reject(thrown);
        }
      };
    });
    for (const signal of this.#options.bounds.signals) {
      this.#follow(signal);
      if (this.#call.isOver) return made;
    }
    const nowUs = this.#clock.nowUs();
    if (this.#canEnd(nowUs)) this.#obey(this.#call.start(nowUs));
    else {
      this.#call.abandon(nowUs);
      this.#fail(TOO_LATE);
    }
    return made;
  }

  /** One that cannot end in time is not begun. */
  #canEnd(nowUs: number): boolean {
    const { booked, request } = this.#options;
    const fastest = booked.route.targets.map(({ ttft }) => {
      const us = ttft.quantileUs(request.inputTokens, FASTEST_SHARE);
      return Number.isNaN(us) ? 0 : us;
    });
    return nowUs + Math.min(...fastest) < this.#call.deadlineUs;
  }

  #follow(signal: AbortSignal): void {
    const onAbort = (): void => this.#callOff(signal.reason);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo.push(() => signal.removeEventListener("abort", onAbort));
  }

  #callOff(reason: unknown): void {
    if (this.#call.isOver) return;
    const nowUs = this.#clock.nowUs();
    // A deadline above the call ends in the same instant as the call's own, and is told as that.
    if (isManxError(reason) && reason.code === "MANX_DEADLINE" && nowUs >= this.#call.deadlineUs) {
      this.#obey(this.#call.advance(nowUs));
      return;
    }
    this.#leave(nowUs);
    if (this.#body === undefined) {
      this.#settle(() => {
        throw reason;
      });
    } else this.#body.fail(reason);
  }

  /** Nobody wants the rest. What was whole already is a good end. */
  #leave(nowUs: number): void {
    const winner = this.#winner;
    if (winner?.answer.stream?.isWhole === true) {
      this.#running.get(winner.number)?.attempt.cancel();
      this.complete(winner.number, "complete", nowUs);
      return;
    }
    this.#obey(this.#call.abandon(nowUs));
    this.#close("cancelled", nowUs);
  }

  #obey(decisions: readonly CallDecision[]): void {
    for (const decision of decisions) {
      if (decision.do === "begin") this.#begin(decision);
      else if (decision.do === "cancel") this.#remove(decision.attempt)?.attempt.cancel();
      else if (decision.do === "deliver") this.#deliver(decision.attempt);
      else this.#fail(decision.failure);
    }
    this.#note();
    this.#arm();
  }

  #arm(): void {
    if (!this.#call.isOver) this.#timer.arm(this.#call.dueUs);
  }

  #note(): void {
    const { records, isOver } = this.#call;
    const { book } = this.#options;
    book.noteEnds(records);
    const isWaiting = this.#running.size === 0 && !isOver && records.length > 0;
    if (isWaiting) book.pause(this.#clock.nowUs());
  }

  #begin({ attempt: number, target }: CallDecision & { do: "begin" }): void {
    const { clock, fetch, request, booked, receivedUs, book } = this.#options;
    const place = booked.places[target]!;
    const origin = place.originFor(request);
    const answer = new Answer(
      { attempt: number, request, origin, receivedUs, heldUs: () => this.#heldUs },
      this,
    );
    book.begin(this.#call.records[number]!, { place, origin, answer });
    const attempt = new FetchAttempt(
      {
        clock,
        fetch,
        origin,
        outgoing: () => this.#outgoing(number, place),
        onClosed: () => book.closed(),
      },
      answer,
    );
    this.#running.set(number, { attempt, answer });
    attempt.start();
  }

  async #outgoing(number: number, place: CallPlace) {
    const { request, gateways, book } = this.#options;
    if (!gateways.has(place.originFor(request))) return place.outgoing(request, undefined);
    const leftMs = Math.floor((this.#call.deadlineUs - this.#clock.nowUs()) / US_PER_MS);
    const sent = await place.outgoing(
      request,
      Number.isFinite(leftMs) ? Math.max(1, leftMs) : undefined,
    );
    const traceparent = book.traceparent(number);
    const headers = sent.init.headers as Headers;
    if (traceparent !== undefined) headers.set("traceparent", traceparent);
    return sent;
  }

  #remove(number: number): Running | undefined {
    const running = this.#running.get(number);
    this.#running.delete(number);
    return running;
  }

  #deliver(number: number): void {
    const { attempt, answer } = this.#running.get(number)!;
    this.#winner = { number, answer };
    const body = new AnswerBody(answer.isEventStream, this);
    this.#body = body;
    // From here on it is read as fast as the caller reads.
    attempt.pause();
    this.#hold(this.#clock.nowUs());
    for (const chunk of answer.deliver()) body.push(chunk);
    this.#settle(() => answerResponse(answer, body));
  }

  #hold(nowUs: number): void {
    if (this.#pausedUs !== undefined) return;
    this.#pausedUs = nowUs;
    this.#call.pause(nowUs);
  }

  onWanted(): void {
    if (this.#pausedUs === undefined || this.#call.isOver) return;
    const nowUs = this.#clock.nowUs();
    this.#heldUs += nowUs - this.#pausedUs;
    this.#pausedUs = undefined;
    this.#call.resume(nowUs);
    const { number } = this.#winner!;
    this.#options.book.asked(number, nowUs);
    this.#running.get(number)?.attempt.resume();
    this.#arm();
  }

  onCancelled(): void {
    if (!this.#call.isOver) this.#leave(this.#clock.nowUs());
  }

  #fail(failure: CallFailure): void {
    const { request } = this.#options;
    const nowUs = this.#clock.nowUs();
    const error = finalError(failure, this.#fault, this.#policy.timeouts);
    this.#options.book.noteEnds(this.#call.records);
    if (this.#body !== undefined) {
      this.#body.fail(error, (said) => failureFrame(error, request.wire, said));
      this.#close("failed", nowUs, error);
      return;
    }
    const { records } = this.#call;
    const response = failureResponse({
      ...{ failure, error, inBand: this.#inBand, refused: this.#refused, wire: request.wire },
      retriedHere: this.#policy.retry.attemptsMax > 1 ? records.length : 0,
    });
    this.#settle(() => response);
    const isRefused = failure.kind === "status" && this.#refused !== undefined;
    this.#close(
      isRefused ? "refused" : "failed",
      nowUs,
      isRefused ? undefined : error,
      response.status,
    );
  }

  /** The call is over: what it held is given back, and its record told. */
  #close(
    outcome: "ok" | "refused" | "failed" | "cancelled",
    nowUs: number,
    error?: ManxError,
    status = this.#winner?.answer.status ?? 0,
  ): void {
    this.#timer.stop();
    for (const letGo of this.#letGo) letGo();
    this.#letGo = [];
    const { book } = this.#options;
    book.noteEnds(this.#call.records);
    book.end({ outcome, status, endedUs: nowUs, error, winner: this.#winner });
  }

  sent(number: number, nowUs: number): void {
    this.#call.sent(number, nowUs);
    this.#arm();
  }

  head(number: number, response: Response, nowUs: number): void {
    const { gateways, booked, request } = this.#options;
    const { target } = this.#call.records[number]!;
    gateways.see(booked.places[target]!.originFor(request), response.headers);
    this.#call.head(number, response.status, nowUs);
    this.#arm();
  }

  content(number: number, nowUs: number): void {
    this.#obey(this.#call.content(number, nowUs));
  }

  read(number: number, nowUs: number): void {
    const stream = this.#running.get(number)?.answer.stream;
    const isThinking = stream?.isThinking ?? false;
    this.#call.read(number, nowUs, stream?.hasProgress ?? true, isThinking);
    if (stream !== undefined) this.#options.book.read(number, stream, nowUs);
    // Progress moves what is due further away, but a model that stops thinking may not be silent for as long.
    if (isThinking === this.#isThinking) return;
    this.#isThinking = isThinking;
    this.#arm();
  }

  bytes(chunk: Uint8Array): void {
    const { number } = this.#winner!;
    this.#body!.push(chunk);
    if (this.#body!.isWanted || this.#call.isOver) return;
    this.#running.get(number)?.attempt.pause();
    this.#hold(this.#clock.nowUs());
  }

  complete(number: number, ending: Ending, nowUs: number): void {
    this.#obey(this.#call.complete(number, nowUs));
    this.#remove(number);
    this.#body?.end();
    this.#close(ending === "error" ? "failed" : "ok", nowUs);
  }

  refused(number: number, nowUs: number): void {
    const { attempt, answer } = this.#remove(number)!;
    const { response, isWhole, status } = answer;
    this.#refused = isWhole ? answer : undefined;
    // A body that is larger than any error is not waited for.
    if (!isWhole) attempt.cancel();
    const { gateways, booked, request } = this.#options;
    const { headers } = response!;
    const { target } = this.#call.records[number]!;
    gateways.see(booked.places[target]!.originFor(request), headers);
    const should = headers.get("x-should-retry");
    const failure: Failure = {
      kind: "status",
      status,
      retryAfterUs: readRetryAfterUs(
        (name) => headers.get(name) ?? undefined,
        this.#clock.wallMs(),
      ),
      shouldRetry: should === "true" ? true : should === "false" ? false : undefined,
    };
    this.#obey(this.#call.failed(number, failure, nowUs));
  }

  errorInBand(number: number, error: UpstreamError, nowUs: number): void {
    this.#inBand = error;
    this.#remove(number)?.attempt.cancel();
    const failure = plainFailure("stream_error", error.status ?? 500);
    this.#obey(this.#call.failed(number, failure, nowUs));
  }

  fault(number: number, fault: Fault, nowUs: number): void {
    this.#fault = fault.error;
    this.#remove(number)?.attempt.cancel();
    this.#obey(this.#call.failed(number, plainFailure(fault.kind), nowUs));
  }
}
