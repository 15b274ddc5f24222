/**
 * Drives one `Call` with sockets: begins and cancels attempts, tells the call what they bring, and hands on what it may
 * deliver. Knows nothing of the client but how long it has held things up.
 *
 *     Call ─► Attempt ─► Reception ─┬─ content ─► Call ─► deliver ─► onHead, onBytes …, onEnd
 *      ▲ ▲                          └─ failed ──► Call ─► begin another | onFailure
 *      │ └── one timer, at the call's next due instant
 *      └──── abandon
 *
 * Invariant: exactly one of `onEnd` and `onFailure`, unless it is abandoned; by then every attempt is over or cancelled.
 */
import { type Cancel, type Clock, DueTimer } from "../clock/index.ts";
import { ManxError, toManxError } from "../core/index.ts";
import {
  type AnswerSoFar,
  type AttemptRecord,
  type BeginCause,
  Call,
  type CallDecision,
  type CallFailure,
  type Failure,
  plainFailure,
  type ReplicaOutcome,
  readRetryAfterUs,
} from "../policy/index.ts";
import type { Ending, UpstreamError } from "../stream/index.ts";
import { Attempt, type Fault } from "./attempt.ts";
import type { CallIntent } from "./call-intent.ts";
import type { CallRunEvents } from "./call-run-events.ts";
import { type Prefill, prefillOf } from "./continuation/index.ts";
import { findHeader } from "./headers.ts";
import type { Line } from "./model-routes.ts";
import { type CallWaits, Reception, type ReceptionEvents } from "./reception.ts";
import {
  type AttemptMetrics,
  type AttemptSeen,
  AttemptsSeen,
  type CallIdentity,
  markAttempt,
} from "./seeing/index.ts";
import { timelineMarks } from "./timeline-marks.ts";
import type { Seat } from "./upstream.ts";

interface Running {
  readonly attempt: Attempt;
  readonly reception: Reception;
  readonly line: Line;
  readonly seat: Seat;
}

export interface CallRunOptions {
  readonly intent: CallIntent;
  readonly clock: Clock;
  /** The request was there, whole. */
  readonly readyUs: number;
  /** null: it is part of no caller's trace. */
  readonly identity: CallIdentity | null;
  /** null: its attempts are in no figure. */
  readonly attempts: AttemptMetrics | null;
  readonly waits: CallWaits;
}

export class CallRun implements ReceptionEvents, AnswerSoFar {
  readonly #intent: CallIntent;
  readonly #clock: Clock;
  readonly #options: CallRunOptions;
  readonly #events: CallRunEvents;
  readonly #call: Call;
  readonly #timer: DueTimer;
  /** By attempt; what has ended leaves its place empty. */
  readonly #running: (Running | undefined)[] = [];
  readonly #seen: AttemptsSeen;
  /** Replicas that have failed, by target. */
  #failedReplicas: Map<number, number[]> | undefined;
  #winner: Running | undefined;
  #hasHead = false;
  #hasWrittenHead = false;
  #isThinking = true;
  #refused: Reception | undefined;
  #errorInBand: UpstreamError | undefined;
  #fault: ManxError | undefined;
  #cancelGate: Cancel | undefined;
  #isPaused = false;

  constructor(options: CallRunOptions, events: CallRunEvents) {
    const { intent, clock } = options;
    this.#options = options;
    this.#intent = intent;
    this.#clock = clock;
    this.#events = events;
    this.#seen = new AttemptsSeen(intent.model.name, options.attempts);
    this.#call = new Call(intent.call, intent.model.call, this);
    this.#timer = new DueTimer(clock, () => this.#obey(this.#call.advance(clock.nowUs())));
  }

  get deadlineUs(): number {
    return this.#call.deadlineUs;
  }

  get records(): readonly AttemptRecord[] {
    return this.#call.records;
  }

  /** The attempts so far, with what was seen of each. */
  seenAttempts(): AttemptSeen[] {
    return this.#seen.with(this.records);
  }

  /** The answer that was delivered, or is being. */
  get delivered(): Reception | undefined {
    return this.#winner?.reception;
  }

  start(): void {
    this.#obey(this.#call.start(this.#clock.nowUs()));
    this.#armGate();
  }

  /** The client has left. */
  abandon(): void {
    if (!this.#call.isOver) this.#obey(this.#call.abandon(this.#clock.nowUs()));
    this.#stop();
  }

  /** The client does not read. */
  pause(): void {
    this.#isPaused = true;
    this.#call.pause(this.#clock.nowUs());
    this.#winner?.attempt.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#call.resume(this.#clock.nowUs());
    this.#winner?.attempt.resume();
    this.#arm();
  }

  /** For the client's own timeline: what the gateway took, what the upstream took, and on which connection. */
  marks(number: number): string[] {
    const nowUs = this.#clock.nowUs();
    const { readyUs, waits } = this.#options;
    const { records } = this;
    return timelineMarks({
      readyUs,
      queuedUs: waits.queuedUs,
      firstBeganUs: records[0]?.beganUs ?? nowUs,
      beganUs: records[number]?.beganUs ?? nowUs,
      sentUs: records[number]?.sentUs ?? nowUs,
      nowUs,
      connection: this.#seen.connection(number),
      attempts: records.length,
    });
  }

  #obey(decisions: readonly CallDecision[]): void {
    this.#seen.countEnds(this.records);
    for (const decision of decisions) {
      if (decision.do === "begin") this.#begin(decision);
      else if (decision.do === "cancel") this.#cancel(decision.attempt);
      else if (decision.do === "deliver") this.#deliver(decision.attempt);
      else this.#fail(decision.failure);
    }
    this.#arm();
  }

  #arm(): void {
    if (!this.#call.isOver) this.#timer.arm(this.#call.dueUs);
  }

  #stop(): void {
    this.#timer.stop();
    this.#cancelGate?.();
  }

  #begin({ attempt: number, target, fresh, cause }: CallDecision & { do: "begin" }): void {
    const line = this.#intent.model.lines[target]!;
    const { upstream } = line;
    const { name } = this.#intent.model.call.targets[target]!;
    this.#seen.begin(number, cause, upstream.config, name);
    const failed = this.#failedReplicas?.get(target) ?? [];
    let seat: Seat | undefined;
    // Whatever a body does to its readers ends this call, and never what has called this: a timer, another call's end.
    try {
      seat = upstream.take(this.#intent.placed(upstream.wantsPrefix, failed));
      if (seat === undefined) throw new ManxError("MANX_UPSTREAM_DOWN", { where: upstream.name });
      this.#send(number, line, seat, { fresh, cause });
    } catch (thrown) {
      if (this.#running[number] !== undefined) this.#cancel(number);
      else if (seat !== undefined) upstream.end(seat, "cancelled");
      this.#notBegun(number, toManxError(thrown));
    }
  }

  #send(number: number, line: Line, seat: Seat, how: { fresh: boolean; cause: BeginCause }): void {
    const intent = this.#intent;
    const prefill = how.cause === "continue" ? this.#prefill() : undefined;
    const { request, translation } = intent.outgoing(line, seat.prefix, prefill);
    const continues =
      prefill && this.#winner!.reception.continuedBy(translation, prefill, intent.wantsUsage);
    const { identity } = this.#options;
    if (identity !== null) markAttempt(request.headers, identity, number);
    this.#seen.place(number, seat.pool.origin);
    const reception = new Reception(
      {
        attempt: number,
        format: intent.route.reads,
        translation,
        keepsText: intent.mayContinue,
        continues,
        receivedUs: this.#intent.call.receivedUs,
        waits: this.#options.waits,
        clock: this.#clock,
      },
      this,
    );
    const attempt = new Attempt({ pool: seat.pool, clock: this.#clock }, request, reception);
    this.#running[number] = { attempt, reception, line, seat };
    attempt.start({ fresh: how.fresh });
  }

  /** What the caller has is a text that another attempt can be given. */
  canContinue(): boolean {
    const transcript = this.#winner?.reception.transcript;
    if (transcript?.canContinue !== true) return false;
    return this.#intent.canBePrefilled(transcript.tokens);
  }

  #prefill(): Prefill {
    const { text, tokens } = this.#winner!.reception.transcript!;
    return prefillOf(text, tokens);
  }

  /** Nothing was sent: no replica may be asked, or the call cannot be put in the target's terms. */
  #notBegun(number: number, error: ManxError): void {
    this.#fault = error;
    const kind = error.code === "MANX_UPSTREAM_DOWN" ? "connect" : "unsuited";
    this.#obey(this.#call.failed(number, plainFailure(kind), this.#clock.nowUs()));
  }

  /** @returns what has ended, if it had not before. */
  #remove(number: number, outcome: ReplicaOutcome): Running | undefined {
    const running = this.#running[number];
    if (running === undefined) return undefined;
    this.#running[number] = undefined;
    const { line, seat } = running;
    line.upstream.end(seat, outcome);
    if (seat.placement !== undefined && outcome !== "ok" && outcome !== "cancelled") {
      const { target } = this.records[number]!;
      this.#failedReplicas ??= new Map();
      const failed = this.#failedReplicas.get(target) ?? [];
      this.#failedReplicas.set(target, [...failed, seat.placement.replica]);
    }
    return running;
  }

  #cancel(number: number): void {
    this.#remove(number, "cancelled")?.attempt.cancel();
  }

  #deliver(number: number): void {
    const running = this.#running[number]!;
    this.#winner = running;
    this.#seen.delivered(this.records[number]!);
    this.#cancelGate?.();
    const { reception, line } = running;
    const outputUs = reception.stream?.firstOutputUs;
    if (outputUs !== undefined) this.#events.onFirstOutput(line.upstream.name, outputUs);
    this.#writeHead(reception, number);
    if (this.#isPaused) running.attempt.pause();
    const held = reception.deliver();
    if (held.length > 0) this.#events.onBytes(held);
  }

  #writeHead(reception: Reception, number: number): void {
    if (this.#hasWrittenHead) return;
    this.#hasWrittenHead = true;
    const { headers, isEventStream, isEncoded } = reception.head!;
    const canAppend = isEventStream && !isEncoded;
    this.#events.onHead(reception.status, [...headers, ...this.marks(number)], canAppend);
  }

  #fail(failure: CallFailure): void {
    this.#stop();
    this.#events.onFailure(failure, {
      fault: this.#fault,
      inBand: this.#errorInBand,
      refused: this.#refused,
    });
  }

  sent(number: number, nowUs: number): void {
    this.#seen.sent(number, this.#running[number]?.attempt.marks);
    this.#call.sent(number, nowUs);
    if (number === 0) this.#events.onSent(nowUs);
    this.#arm();
  }

  head(number: number, status: number, nowUs: number): void {
    this.#noteHead(number, nowUs);
    this.#call.head(number, status, nowUs);
    this.#arm();
    const { gateUs } = this.#intent.model.policy;
    if (gateUs === 0 && this.#intent.call.isStream) this.#goAhead();
  }

  content(number: number, nowUs: number): void {
    const { line, seat } = this.#running[number]!;
    const { isStream } = this.#intent.call;
    if (isStream) line.upstream.firstOutput(seat);
    const { cause, sentUs } = this.records[number]!;
    if (cause !== "continue") this.#events.onContent(nowUs - (sentUs ?? nowUs), isStream);
    this.#obey(this.#call.content(number, nowUs));
  }

  #noteHead(number: number, nowUs: number): void {
    const running = this.#running[number];
    this.#seen.head(number, running?.reception.rawHeaders);
    if (this.#hasHead || running === undefined) return;
    this.#hasHead = true;
    this.#events.onFirstHead(running.line.upstream.name, nowUs);
  }

  read(number: number, nowUs: number, isProgress: boolean, isThinking: boolean): void {
    this.#call.read(number, nowUs, isProgress, isThinking);
    // Progress moves what is due further away, but a model that stops thinking may not be silent for as long.
    if (isThinking === this.#isThinking) return;
    this.#isThinking = isThinking;
    this.#arm();
  }

  bytes(chunk: Buffer): void {
    this.#events.onBytes(chunk);
  }

  complete(number: number, ending: Ending, last: Buffer | undefined, nowUs: number): void {
    this.#obey(this.#call.complete(number, nowUs));
    this.#remove(number, ending === "error" ? "error" : "ok");
    this.#stop();
    this.#events.onEnd(ending, last);
  }

  refused(number: number, nowUs: number): void {
    const { reception } = this.#running[number]!;
    const { rawHeaders, status } = reception;
    this.#noteHead(number, nowUs);
    this.#refused = reception.isWhole ? reception : undefined;
    const isBusy = status === 429 || status === 503 || status === 529;
    // A body that is larger than any error is not waited for.
    this.#remove(number, isBusy ? "overloaded" : status >= 500 ? "error" : "ok")?.attempt.cancel();
    const should = findHeader(rawHeaders, "x-should-retry");
    const failure: Failure = {
      kind: "status",
      status,
      retryAfterUs: readRetryAfterUs(
        (name) => findHeader(rawHeaders, name) || undefined,
        this.#clock.wallMs(),
      ),
      shouldRetry: should === "true" ? true : should === "false" ? false : undefined,
    };
    this.#obey(this.#call.failed(number, failure, nowUs));
  }

  errorInBand(number: number, error: UpstreamError, nowUs: number): void {
    this.#errorInBand = error;
    this.#remove(number, "error")?.attempt.cancel();
    const failure = plainFailure("stream_error", error.status ?? 500);
    this.#obey(this.#call.failed(number, failure, nowUs));
  }

  fault(number: number, fault: Fault, nowUs: number): void {
    this.#fault = fault.error;
    const isDown = fault.kind === "connect" || fault.error.code === "MANX_UPSTREAM_DOWN";
    // A kept connection that was closed in the same moment says nothing of who closed it.
    const isNobodys = fault.kind === "local" || fault.kind === "reuse_race";
    this.#remove(number, isNobodys ? "cancelled" : isDown ? "down" : "error");
    this.#obey(this.#call.failed(number, plainFailure(fault.kind), nowUs));
  }

  /** A model may think for longer than its caller waits for a head: then the head goes out alone. */
  #armGate(): void {
    const { gateUs } = this.#intent.model.policy;
    if (!this.#intent.call.isStream || gateUs === 0 || this.#call.isOver) return;
    if (this.#winner !== undefined) return;
    this.#cancelGate = this.#clock.at(this.#options.readyUs + gateUs, () => this.#goAhead());
  }

  #goAhead(): void {
    for (const [number, running] of this.#running.entries()) {
      if (running?.reception.head?.isEventStream !== true) continue;
      this.#writeHead(running.reception, number);
      return;
    }
  }
}
