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
import { AttemptClock } from "./attempt-clock.ts";
import {
  type AttemptEnd,
  type AttemptRecord,
  type BeginCause,
  beginRecord,
} from "./attempt-record.ts";
import type { Ballot } from "./breaker.ts";
import type { CallDecision, CallFailure } from "./call-decision.ts";
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
import type { FirstContent, Target } from "./target.ts";
import { chooseTarget } from "./target-choice.ts";

interface Live {
  readonly record: AttemptRecord;
  readonly clock: AttemptClock;
  /** For the end that its target is told. */
  readonly ballot: Ballot;
}

const PATIENCE = 4;
/** A second connection that was kept and is dead is no coincidence. */
const REUSE_RACES_MAX = 1;

export class Call {
  readonly #request: CallRequest;
  readonly #route: CallRoute;
  readonly #answer: AnswerSoFar;
  readonly #deadlineUs: number;
  readonly #records: AttemptRecord[] = [];
  #live: Live[] = [];
  #winner: Live | undefined;
  /** What goes on with the winner's answer, until it has put something out itself. */
  #continuer: Live | undefined;
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
    const live = this.#find(attempt);
    if (live === undefined) return;
    live.record.sentUs = nowUs;
    live.clock.sent(nowUs);
  }

  /** A head that says yes (below 400). */
  head(attempt: number, status: number, nowUs: number): void {
    const live = this.#find(attempt);
    if (live === undefined) return;
    live.record.headUs = nowUs;
    live.record.status = status;
    live.clock.head(nowUs);
  }

  /** First output of a stream; of another answer, that it is there, whole or too large to wait for the rest. */
  content(attempt: number, nowUs: number): readonly CallDecision[] {
    const live = this.#find(attempt);
    if (live === undefined || this.#hasContent(live)) return NOTHING;
    const { record } = live;
    record.contentUs = nowUs;
    live.clock.content(nowUs);
    const target = this.#targetOf(live);
    // Without a stream the whole generation lies before the first byte: another quantity, that says nothing of this one.
    if (this.#request.isStream) {
      target.content(live.ballot, this.#silenceOf(live, nowUs), nowUs);
    } else {
      target.end(live.ballot, "good", nowUs);
    }
    if (this.#hedgeAtUs !== Number.POSITIVE_INFINITY) this.#route.hedger?.notePrompt(target);
    this.#noteHedge(live, nowUs);
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
      this.#targetOf(live).end(live.ballot, "good", nowUs);
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
    const target = this.#targetOf(live);
    if (failure.retryAfterUs !== undefined) target.cool(nowUs + failure.retryAfterUs);
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
      this.#beginSomewhere(
        this.#records.length === 0 ? "first" : "retry",
        this.#retryTargets,
        nowUs,
      );
    }
    return this.#take();
  }

  /** What breaks after its first content was judged then; a second verdict is owed only if it is a bad one. */
  #judge(live: Live, isIll: boolean, nowUs: number): void {
    const target = this.#targetOf(live);
    if (live !== this.#winner) target.end(live.ballot, isIll ? "failed" : undefined, nowUs);
    else if (isIll) target.broke(nowUs);
  }

  /** Its answer, or another one's, is with the caller. */
  #hasContent(live: Live): boolean {
    return this.#winner !== undefined && live !== this.#continuer;
  }

  #silenceOf({ record }: Live, nowUs: number): FirstContent {
    return { tokens: this.#request.inputTokens, ttftUs: nowUs - record.beganUs };
  }

  #find(attempt: number): Live | undefined {
    for (const live of this.#live) if (live.record.attempt === attempt) return live;
    return undefined;
  }

  #targetOf({ record }: Live): Target {
    return this.#route.targets[record.target]!;
  }

  #take(): readonly CallDecision[] {
    if (this.#out.length === 0) return NOTHING;
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #begin(target: number, cause: BeginCause, nowUs: number): void {
    const { policy, targets, hedger } = this.#route;
    const attempt = this.#records.length;
    const record = beginRecord(attempt, target, cause, nowUs);
    this.#records.push(record);
    const { isStream, isRepeatable, inputTokens } = this.#request;
    const ballot = targets[target]!.begin(nowUs);
    this.#live.push({ record, clock: new AttemptClock(policy.timeouts, isStream, nowUs), ballot });
    this.#waitsSinceUs = undefined;
    if (IS_TRY[cause]) this.#tries += 1;
    if (cause !== "continue" && hedger !== null && isStream && isRepeatable && !this.#hasHedge) {
      this.#hedgeAtUs = nowUs + hedger.delayUs(targets[target]!, inputTokens);
    }
    // There is no second chance for what continues: it is not left to a kept connection.
    const fresh = cause === "reuse_race" || cause === "continue";
    this.#out.push({ do: "begin", attempt, target, cause, fresh });
  }

  /** On the best target that is left; waits for one that has asked for a pause, if that is short. */
  #beginSomewhere(cause: BeginCause, excluded: ReadonlySet<number>, nowUs: number): void {
    const { targets, random, policy } = this.#route;
    const target = chooseTarget(targets, { excluded, nowUs }, random);
    if (target >= 0) {
      this.#begin(target, this.#causeAt(cause, target), nowUs);
      return;
    }
    let availableUs = Number.POSITIVE_INFINITY;
    for (const [at, { availableUs: atUs }] of targets.entries()) {
      if (!excluded.has(at)) availableUs = Math.min(availableUs, atUs);
    }
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
    this.#retryAtUs = againUs + this.#spreadUs(againUs - nowUs);
  }

  /** Whoever waits for one target must not come back in the same instant. */
  #spreadUs(waitUs: number): number {
    const mostUs = Math.min(waitUs / 10, this.#route.policy.retry.backoffBaseUs);
    return Math.ceil(mostUs * this.#route.random.next());
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

  #deliver(live: Live, nowUs: number): void {
    this.#winner = live;
    this.#continuer = undefined;
    this.#hedgeAtUs = Number.POSITIVE_INFINITY;
    this.#retryAtUs = Number.POSITIVE_INFINITY;
    for (const other of [...this.#live]) {
      if (other === live) continue;
      const { attempt } = other.record;
      this.#targetOf(other).lost(other.ballot, this.#silenceOf(other, nowUs), nowUs);
      this.#endAttempt(other, "lost", nowUs);
      this.#out.push({ do: "cancel", attempt, why: "lost" });
    }
    this.#out.push({ do: "deliver", attempt: live.record.attempt });
  }

  #endAttempt(live: Live, end: AttemptEnd, nowUs: number): void {
    if (live.record.contentUs === undefined) this.#noteHedge(live, nowUs);
    live.record.end = end;
    live.record.endedUs = nowUs;
    this.#live.splice(this.#live.indexOf(live), 1);
  }

  #cancelAll(why: AttemptEnd, nowUs: number): void {
    for (const live of [...this.#live]) {
      if (live !== this.#winner) this.#giveUp(live, nowUs);
      this.#out.push({ do: "cancel", attempt: live.record.attempt, why });
      this.#endAttempt(live, why, nowUs);
    }
  }

  /** Its time was up, not its target's: only a silence that is long for such a prompt says something. */
  #giveUp(live: Live, nowUs: number): void {
    const isLate = nowUs >= this.#deadlineUs && this.#request.isStream;
    if (isLate) this.#targetOf(live).silent(live.ballot, this.#silenceOf(live, nowUs), nowUs);
    else this.#targetOf(live).end(live.ballot, undefined, nowUs);
  }

  /** An attempt has failed; what now? */
  #lose(live: Live, failure: Failure, nowUs: number): void {
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
    const waitUs = other >= 0 ? 0 : this.#pauseUs(failure, next);
    const isSlept = failure.retryAfterUs !== undefined && other < 0;
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

  /** Jitter takes from our own pause and adds to what the server has asked for. */
  #pauseUs(failure: Failure, next: NextTry): number {
    const { backoffBaseUs, backoffCapUs } = this.#route.policy.retry;
    const draw = this.#route.random.next();
    const factor = next === "patiently" ? PATIENCE : 1;
    const doubledUs = backoffBaseUs * factor * 2 ** Math.max(0, this.#tries - 1);
    const ownUs = Math.ceil(Math.min(backoffCapUs, doubledUs) * (1 - draw / 2));
    const { retryAfterUs } = failure;
    if (retryAfterUs === undefined) return ownUs;
    return retryAfterUs + Math.ceil(Math.min(retryAfterUs / 10, backoffBaseUs) * draw);
  }

  #hedge(nowUs: number): void {
    this.#hedgeAtUs = Number.POSITIVE_INFINITY;
    const { hedger, targets, random } = this.#route;
    const primary = this.#live[0];
    if (hedger === null || primary === undefined || this.#winner !== undefined) return;
    hedger.noteLate(this.#targetOf(primary));
    this.#hasHedge = true;
    const busy = this.#maybeBusy();
    const excluded = new Set([...busy, primary.record.target]);
    let target = chooseTarget(targets, { excluded, nowUs }, random);
    if (target < 0 && hedger.policy.sameTarget) {
      target = chooseTarget(targets, { excluded: busy, nowUs }, random);
    }
    if (target >= 0 && hedger.ask(targets[target]!, this.#request.inputTokens) === null) {
      this.#begin(target, "hedge", nowUs);
    }
  }

  /** What a hedge tells of its own target: that it was prompt, that it was late as well, or nothing yet. */
  #noteHedge(live: Live, nowUs: number): void {
    const { cause, beganUs, contentUs } = live.record;
    const { hedger } = this.#route;
    if (hedger === null || cause !== "hedge") return;
    const target = this.#targetOf(live);
    const delayUs = hedger.delayUs(target, this.#request.inputTokens);
    if (nowUs - beganUs > delayUs) hedger.noteLate(target);
    else if (contentUs !== undefined) hedger.notePrompt(target);
  }

  #fail(cause: Failure | "deadline", attempt: number | undefined, nowUs: number): void {
    const isAfterContent = this.#winner !== undefined;
    this.#cancelAll("abandoned", nowUs);
    this.#isOver = true;
    const failure: Omit<CallFailure, "attempt" | "isAfterContent"> =
      cause === "deadline"
        ? { kind: "deadline", status: 0, retryAfterUs: undefined, shouldRetry: undefined }
        : attempt === undefined
          ? { ...cause, kind: "no_target" }
          : cause;
    this.#out.push({ do: "fail", failure: { ...failure, attempt, isAfterContent } });
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
