/**
 * One attempt that runs: its record, its clock, and what its target learns from it. The target hears one verdict with the
 * attempt's ballot, at the first content or at an end before it, and after that only of a break.
 */
import { AttemptClock } from "./attempt-clock.ts";
import {
  type AttemptEnd,
  type AttemptRecord,
  type BeginCause,
  beginRecord,
} from "./attempt-record.ts";
import type { Ballot } from "./breaker.ts";
import type { PhaseTimeouts } from "./call-policy.ts";
import type { CallRequest } from "./call-request.ts";
import type { HedgeGovernor } from "./hedge-governor.ts";
import type { WatchedAttempt } from "./slowness-watch.ts";
import type { FirstContent, Target } from "./target.ts";

export interface LiveAttemptOptions {
  readonly attempt: number;
  readonly index: number;
  readonly target: Target;
  readonly cause: BeginCause;
  readonly request: CallRequest;
  readonly timeouts: PhaseTimeouts;
  readonly hedger: HedgeGovernor | null;
}

export class LiveAttempt {
  readonly record: AttemptRecord;
  readonly clock: AttemptClock;
  readonly target: Target;
  readonly #request: CallRequest;
  readonly #ballot: Ballot;
  readonly #watched: WatchedAttempt | undefined;

  constructor(options: LiveAttemptOptions, nowUs: number) {
    const { attempt, index, target, cause, request, timeouts, hedger } = options;
    this.record = beginRecord(attempt, index, cause, nowUs);
    this.target = target;
    this.#request = request;
    this.#ballot = target.begin(nowUs);
    this.clock = new AttemptClock(timeouts, request.isStream, nowUs);
    if (request.isStream) this.#watched = hedger?.watch(target, request.inputTokens, nowUs);
  }

  sent(nowUs: number): void {
    this.record.sentUs = nowUs;
    this.clock.sent(nowUs);
  }

  head(status: number, nowUs: number): void {
    this.record.headUs = nowUs;
    this.record.status = status;
    this.clock.head(nowUs);
  }

  content(nowUs: number): void {
    this.record.contentUs = nowUs;
    this.clock.content(nowUs);
    if (this.#watched !== undefined) this.#watched.contentUs = nowUs;
    // Without a stream the whole generation lies before the first byte: another quantity, that says nothing of this one.
    if (this.#request.isStream) {
      this.target.content(this.#ballot, this.#silence(nowUs), nowUs);
    } else {
      this.empty(nowUs);
    }
  }

  /** Whole and well, with nothing that could be timed. */
  empty(nowUs: number): void {
    this.target.end(this.#ballot, "good", nowUs);
  }

  /** Ended before anything of it was delivered. @param isIll the target is to blame. */
  failed(isIll: boolean, nowUs: number): void {
    this.target.end(this.#ballot, isIll ? "failed" : undefined, nowUs);
  }

  /** Another one was faster. */
  lost(nowUs: number): void {
    this.target.lost(this.#ballot, this.#silence(nowUs), nowUs);
  }

  /** Given up at the call's end. Only a silence that is long for such a prompt says something, and only if time ran out. */
  givenUp(isLate: boolean, nowUs: number): void {
    if (isLate && this.#request.isStream) {
      this.target.silent(this.#ballot, this.#silence(nowUs), nowUs);
    } else {
      this.target.end(this.#ballot, undefined, nowUs);
    }
  }

  ended(end: AttemptEnd, nowUs: number): void {
    this.record.end = end;
    this.record.endedUs = nowUs;
    if (this.#watched !== undefined) this.#watched.endedUs = nowUs;
  }

  #silence(nowUs: number): FirstContent {
    return { tokens: this.#request.inputTokens, ttftUs: nowUs - this.record.beganUs };
  }
}
