/**
 * One call as a pure state machine: which attempts begin, when, where; whose answer the caller gets; when it is over. No
 * I/O, no timer: a driver tells it what has happened and does what it says. The gateway drives it with sockets, the
 * simulation with a world of its own.
 *
 *     start ─► attempt … ─┬─ first content ─► deliver (the others are cancelled) ─┬─► complete | fail
 *                ▲        ├─ failed before content ─► retry | failover | fail      └─ broken ─► continue, once ─► deliver
 *                └────────┴─ silent at the hedge delay ─► one more beside it
 *
 * Invariants: at most one `deliver`, and one more of the attempt that continues it; nothing else begins after it, nor after
 * `fail`, nor once the caller has left; each attempt that began ends once; the deadline ends everything.
 */
import { assert } from "../../core/index.ts";
import type { AttemptEnd, AttemptRecord, BeginCause } from "./attempt-record.ts";
import { type CallDecision, callFailure } from "./call-decision.ts";
import type { CallRequest, CallRoute } from "./call-request.ts";
import { type AnswerSoFar, breaksText, chooseContinuer, NOTHING_YET } from "./continuation.ts";
import {
  type Failure,
  isIllness,
  isSilence,
  type NextTry,
  nextTry,
  plainFailure,
} from "./failure.ts";
import { LiveAttempt } from "./live-attempt.ts";
import { pauseUs, spreadUs } from "./retry-pause.ts";
import { chooseTarget, soonestUs } from "./target-choice.ts";

/** A second connection that was kept and is dead is no coincidence. */
const REUSE_RACES_MAX = 1;

export class Call {
  readonly #request: CallRequest;
  readonly #route: CallRoute;
  readonly #answer: AnswerSoFar;
  readonly #deadlineUs: number;
  readonly #records: AttemptRecord[] = [];
  #live: LiveAttempt[] = [];
  #winner: LiveAttempt | undefined;
  /** What goes on with the winner's answer, until it has put something out itself. */
  #continuer: LiveAttempt | undefined;
  #hasContinued = false;
  #isOver = false;
  #retryAtUs = Number.POSITIVE_INFINITY;
  #retryTargets: ReadonlySet<number> = NONE;
  #hedgeAtUs = Number.POSITIVE_INFINITY;
  #hasHedge = false;
  /** Since when no target could be used. */
  #waitsSinceUs: number | undefined;
  /** Attempts that count against the policy's number. */
  #tries = 0;
  #reuseRaces = 0;
  #lastFailure: Failure | undefined;
  #out: CallDecision[] = [];

  /** @param answer asked when what was delivered has broken. */
  constructor(request: CallRequest, route: CallRoute, answer: AnswerSoFar = NOTHING_YET) {
    this.#request = request;
    this.#route = route;
    this.#answer = answer;
    const { deadlineUs } = route.policy;
    const ownUs = deadlineUs === 0 ? Number.POSITIVE_INFINITY : request.receivedUs + deadlineUs;
    this.#deadlineUs = Math.min(ownUs, request.deadlineUs);
  }

  get records(): readonly AttemptRecord[] {
    return this.#records;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get deadlineUs(): number {
    return this.#deadlineUs;
  }

  /** When `advance` has to be called at the latest; infinite if never. */
  get dueUs(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    let dueUs = Math.min(this.#deadlineUs, this.#retryAtUs, this.#hedgeAtUs);
    for (const { clock } of this.#live) dueUs = Math.min(dueUs, clock.due.atUs);
    return dueUs;
  }

  start(nowUs: number): readonly CallDecision[] {
    assert(this.#records.length === 0 && !this.#isOver, "a call starts once");
    this.#route.retries.earn(this.#request.inputTokens, nowUs);
    this.#route.hedges.earn(this.#request.inputTokens, nowUs);
    if (nowUs >= this.#deadlineUs) this.#fail("deadline", undefined, nowUs);
    else this.#beginSomewhere("first", NONE, nowUs);
    return this.#take();
  }

  /** The request is on its way, on an open connection. */
  sent(attempt: number, nowUs: number): void {
    this.#find(attempt)?.sent(nowUs);
  }

  /** A head that says yes (below 400). */
  head(attempt: number, status: number, nowUs: number): void {
    this.#find(attempt)?.head(status, nowUs);
  }

  /** First output of a stream; of another answer, that it is there, whole or too large to wait for the rest. */
  content(attempt: number, nowUs: number): readonly CallDecision[] {
    const live = this.#find(attempt);
    if (live === undefined || this.#hasContent(live)) return NOTHING;
    live.content(nowUs);
    this.#deliver(live, nowUs);
    return this.#take();
  }

  /** Bytes of the answer: life, and progress if the model has put something out. */
  read(attempt: number, nowUs: number, isProgress: boolean, isThinking: boolean): void {
    this.#find(attempt)?.clock.read(nowUs, isProgress, isThinking);
  }

  pause(nowUs: number): void {
    for (const { clock } of this.#live) clock.pause(nowUs);
  }

  resume(nowUs: number): void {
    for (const { clock } of this.#live) clock.resume(nowUs);
  }

  /** The delivered answer is whole. */
  complete(attempt: number, nowUs: number): readonly CallDecision[] {
    const live = this.#find(attempt);
    if (live === undefined) return NOTHING;
    // Whole without any output: nothing more will come, and it is what the upstream has to say.
    if (!this.#hasContent(live)) {
      live.empty(nowUs);
      this.#deliver(live, nowUs);
    }
    this.#endAttempt(live, "delivered", nowUs);
    this.#isOver = true;
    return this.#take();
  }

  failed(attempt: number, failure: Failure, nowUs: number): readonly CallDecision[] {
    const live = this.#find(attempt);
    if (live === undefined) return NOTHING;
    if (failure.status > 0) live.record.status = failure.status;
    this.#judge(live, isIllness(failure), nowUs);
    if (failure.retryAfterUs !== undefined) live.target.cool(nowUs + failure.retryAfterUs);
    this.#lose(live, failure, nowUs);
    return this.#take();
  }

  /** The caller has left. */
  abandon(nowUs: number): readonly CallDecision[] {
    if (this.#isOver) return NOTHING;
    this.#cancelAll("abandoned", nowUs);
    this.#isOver = true;
    return this.#take();
  }

  advance(nowUs: number): readonly CallDecision[] {
    if (this.#isOver) return NOTHING;
    if (nowUs >= this.#deadlineUs) {
      this.#fail("deadline", this.#live[0]?.record.attempt, nowUs);
      return this.#take();
    }
    for (const live of [...this.#live]) {
      const { atUs, kind } = live.clock.due;
      if (nowUs < atUs || this.#isOver) continue;
      this.#out.push({ do: "cancel", attempt: live.record.attempt, why: kind });
      this.#judge(live, true, nowUs);
      this.#lose(live, plainFailure(kind), nowUs);
    }
    if (!this.#isOver && nowUs >= this.#hedgeAtUs) this.#hedge(nowUs);
    if (!this.#isOver && nowUs >= this.#retryAtUs) {
      this.#retryAtUs = Number.POSITIVE_INFINITY;
      const cause = this.#records.length === 0 ? "first" : "retry";
      this.#beginSomewhere(cause, this.#retryTargets, nowUs);
    }
    return this.#take();
  }

  /** What breaks after its first content was judged then; a second verdict is owed only if it is a bad one. */
  #judge(live: LiveAttempt, isIll: boolean, nowUs: number): void {
    if (live !== this.#winner) live.failed(isIll, nowUs);
    else if (isIll) live.target.broke(nowUs);
  }

  /** Its answer, or another one's, is with the caller. */
  #hasContent(live: LiveAttempt): boolean {
    return this.#winner !== undefined && live !== this.#continuer;
  }

  #find(attempt: number): LiveAttempt | undefined {
    for (const live of this.#live) if (live.record.attempt === attempt) return live;
    return undefined;
  }

  #take(): readonly CallDecision[] {
    if (this.#out.length === 0) return NOTHING;
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #begin(index: number, cause: BeginCause, nowUs: number): void {
    const { policy, targets, hedger } = this.#route;
    const { timeouts } = policy;
    const request = this.#request;
    const { isStream, isRepeatable, inputTokens } = request;
    const attempt = this.#records.length;
    const target = targets[index]!;
    const options = { attempt, index, target, cause, request, timeouts, hedger };
    const live = new LiveAttempt(options, nowUs);
    this.#records.push(live.record);
    this.#live.push(live);
    this.#waitsSinceUs = undefined;
    if (IS_TRY[cause]) this.#tries += 1;
    if (cause !== "continue" && hedger !== null && isStream && isRepeatable && !this.#hasHedge) {
      this.#hedgeAtUs = nowUs + hedger.delayUs(target, inputTokens);
    }
    // There is no second chance for what continues: it is not left to a kept connection.
    const fresh = cause === "reuse_race" || cause === "continue";
    this.#out.push({ do: "begin", attempt, target: index, cause, fresh });
  }

  /** On the best target that is left; waits for one that has asked for a pause, if that is short. */
  #beginSomewhere(cause: BeginCause, excluded: ReadonlySet<number>, nowUs: number): void {
    const { targets, random, policy } = this.#route;
    const target = chooseTarget(targets, { excluded, nowUs }, random);
    if (target >= 0) {
      this.#begin(target, this.#causeAt(cause, target), nowUs);
      return;
    }
    const availableUs = soonestUs(targets, excluded);
    // A target whose one probe is under way is "available" already.
    const againUs = Math.max(availableUs, nowUs + PROBE_WAIT_US);
    this.#waitsSinceUs ??= nowUs;
    const isTooLong = againUs - this.#waitsSinceUs > policy.retry.retryAfterMaxUs;
    if (isTooLong || againUs >= this.#deadlineUs) {
      const waitUs = Math.max(0, availableUs - nowUs);
      const retryAfterUs = Number.isFinite(waitUs) ? waitUs : undefined;
      this.#fail({ ...plainFailure("status", 503), retryAfterUs }, undefined, nowUs);
      return;
    }
    this.#retryTargets = excluded;
    this.#retryAtUs = againUs + spreadUs(policy.retry, againUs - nowUs, random);
  }

  /** Targets that may still be at work on this call: slow is not failed. */
  #maybeBusy(): Set<number> {
    const busy = new Set<number>();
    for (const { target, end } of this.#records) if (isSilence(end)) busy.add(target);
    return busy;
  }

  #causeAt(cause: BeginCause, target: number): BeginCause {
    if (cause !== "retry") return cause;
    const before = this.#records.at(-1)?.target;
    return before === undefined || before === target ? "retry" : "failover";
  }

  #deliver(live: LiveAttempt, nowUs: number): void {
    this.#winner = live;
    this.#continuer = undefined;
    this.#hedgeAtUs = Number.POSITIVE_INFINITY;
    this.#retryAtUs = Number.POSITIVE_INFINITY;
    for (const other of [...this.#live]) {
      if (other === live) continue;
      const { attempt } = other.record;
      other.lost(nowUs);
      this.#endAttempt(other, "lost", nowUs);
      this.#out.push({ do: "cancel", attempt, why: "lost" });
    }
    this.#out.push({ do: "deliver", attempt: live.record.attempt });
  }

  #endAttempt(live: LiveAttempt, end: AttemptEnd, nowUs: number): void {
    live.ended(end, nowUs);
    this.#live.splice(this.#live.indexOf(live), 1);
  }

  #cancelAll(why: AttemptEnd, nowUs: number): void {
    for (const live of [...this.#live]) {
      // Its time was up, not its target's.
      if (live !== this.#winner) live.givenUp(nowUs >= this.#deadlineUs, nowUs);
      this.#out.push({ do: "cancel", attempt: live.record.attempt, why });
      this.#endAttempt(live, why, nowUs);
    }
  }

  /** An attempt has failed; what now? */
  #lose(live: LiveAttempt, failure: Failure, nowUs: number): void {
    const { attempt, target } = live.record;
    this.#endAttempt(live, failure.kind, nowUs);
    if (this.#winner !== undefined) {
      if (!this.#continue(failure, target, nowUs)) this.#fail(failure, attempt, nowUs);
      return;
    }
    // A failing hedge never replaces a live primary, nor the other way round.
    if (this.#live.length > 0) return;
    const isSameCut = failure.kind === "cut" && this.#lastFailure?.kind === "cut";
    this.#lastFailure = failure;
    const next = nextTry(failure, this.#request.isRepeatable);
    // A driver that is late may tell of an end beyond the deadline.
    const isInTime = nowUs < this.#deadlineUs;
    if (next === "again" && this.#reuseRaces < REUSE_RACES_MAX && isInTime) {
      this.#reuseRaces += 1;
      this.#begin(target, "reuse_race", nowUs);
      return;
    }
    if (next === "never" || isSameCut || !this.#planRetry(failure, next, target, nowUs)) {
      this.#fail(failure, attempt, nowUs);
    }
  }

  /** What the caller has of a broken answer is gone on with. @returns whether it is. */
  #continue(failure: Failure, broken: number, nowUs: number): boolean {
    const { policy, targets, retries, random } = this.#route;
    const { isRepeatable, inputTokens } = this.#request;
    const isMeant = policy.stall.continueByPrefill && !this.#hasContinued && isRepeatable;
    if (!isMeant || !breaksText(failure) || !this.#answer.canContinue()) return false;
    const target = chooseContinuer(targets, { broken, nowUs }, random);
    if (target < 0 || !this.#isInTime(target, nowUs) || !retries.trySpend(inputTokens))
      return false;
    this.#hasContinued = true;
    this.#begin(target, "continue", nowUs);
    this.#continuer = this.#live.at(-1);
    return true;
  }

  /** One that takes as long as they usually do and cannot end in time is not begun. */
  #isInTime(target: number, beginUs: number): boolean {
    const { ttft } = this.#route.targets[target]!;
    const expectedUs = ttft.quantileUs(this.#request.inputTokens, 0.5);
    return beginUs + (Number.isNaN(expectedUs) ? 0 : expectedUs) < this.#deadlineUs;
  }

  /** @returns whether there will be one more. */
  #planRetry(failure: Failure, next: NextTry, target: number, nowUs: number): boolean {
    const { policy, targets, retries, random } = this.#route;
    if (this.#tries >= policy.retry.attemptsMax) return false;
    const tried = new Set(this.#records.map((record) => record.target));
    const other = chooseTarget(targets, { excluded: tried, nowUs }, random);
    if (other < 0 && next === "elsewhere") return false;
    const { retryAfterUs } = failure;
    const reasons = { tries: this.#tries, isPatient: next === "patiently", retryAfterUs };
    const waitUs = other >= 0 ? 0 : pauseUs(policy.retry, reasons, random);
    const isSlept = retryAfterUs !== undefined && other < 0;
    if (isSlept && waitUs > policy.retry.retryAfterMaxUs) return false;
    if (!this.#isInTime(other >= 0 ? other : target, nowUs + waitUs)) return false;
    if (!retries.trySpend(this.#request.inputTokens)) return false;
    if (other >= 0) {
      this.#begin(other, "failover", nowUs);
    } else {
      this.#retryTargets = this.#maybeBusy();
      this.#retryAtUs = nowUs + waitUs;
    }
    return true;
  }

  #hedge(nowUs: number): void {
    this.#hedgeAtUs = Number.POSITIVE_INFINITY;
    const { hedger, targets, random } = this.#route;
    const primary = this.#live[0];
    if (hedger === null || primary === undefined || this.#winner !== undefined) return;
    this.#hasHedge = true;
    const busy = this.#maybeBusy();
    const excluded = new Set([...busy, primary.record.target]);
    let target = chooseTarget(targets, { excluded, nowUs }, random);
    if (target < 0 && hedger.policy.sameTarget) {
      target = chooseTarget(targets, { excluded: busy, nowUs }, random);
    }
    if (target < 0) return;
    const isItself = target === primary.record.target;
    const refusal = hedger.ask(targets[target]!, this.#request.inputTokens, nowUs, isItself);
    if (refusal === null) this.#begin(target, "hedge", nowUs);
  }

  #fail(cause: Failure | "deadline", attempt: number | undefined, nowUs: number): void {
    const isAfterContent = this.#winner !== undefined;
    this.#cancelAll("abandoned", nowUs);
    this.#isOver = true;
    this.#out.push({ do: "fail", failure: callFailure(cause, attempt, isAfterContent) });
  }
}

/** Whether it counts against the number of attempts. */
const IS_TRY: Readonly<Record<BeginCause, boolean>> = {
  first: true,
  retry: true,
  failover: true,
  hedge: false,
  reuse_race: false,
  continue: false,
};
const NONE: ReadonlySet<number> = new Set();
const NOTHING: readonly CallDecision[] = [];
/** Between two looks at a target that is being probed. */
const PROBE_WAIT_US = 50_000;
