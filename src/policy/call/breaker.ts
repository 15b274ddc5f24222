/**
 * Takes a target that is ill out of the choice and tries it again later.
 *
 *     closed ──share of failed or slow calls over the limit──► open ──openUs──► half-open ─┬─ good ─► closed
 *                                                                ▲                         │
 *                                                                └──────── bad, twice as long
 *
 * It only steers: whether a call waits, goes elsewhere or fails is the caller's decision. Slow and failed are told apart,
 * since a slow target is still better than none.
 *
 * Each call that begins gets a ballot, which is good for the state in which it began: what a call of ten minutes ago has to
 * say neither closes a breaker that has opened since, nor lets a second probe through.
 */
import type { BreakerPolicy } from "./call-policy.ts";

export type BreakerState = "closed" | "open" | "half-open";
export type Verdict = "good" | "slow" | "failed";

/** What a call tells the breaker its end with. */
export type Ballot = number;

/** Of a call that began where it had no vote: at a target that is slow, for want of a better one. */
const NO_VOTE: Ballot = -1;
const SLICES = 10;
const OPEN_FACTOR_MAX = 8;

export class Breaker {
  readonly #policy: BreakerPolicy;
  readonly #calls = new Float64Array(SLICES);
  readonly #failed = new Float64Array(SLICES);
  readonly #slow = new Float64Array(SLICES);
  #slice = 0;
  #sliceEndsUs = 0;
  #openUntilUs = 0;
  #openFactor = 1;
  #state: BreakerState = "closed";
  #isProbing = false;
  #isForFailure = false;
  /** Equal verdicts in a row, in whatever time: few calls an hour would never fill a window. */
  #streak = 0;
  #last: Verdict = "good";
  /** Grows with each change of state. */
  #ballot: Ballot = 0;
  /** How often it has opened. */
  opened = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  stateAt(nowUs: number): BreakerState {
    if (this.#state === "open" && nowUs >= this.#openUntilUs) this.#turnTo("half-open");
    return this.#state;
  }

  /** Whether a call may go there now. In the half-open state it is one call at a time. */
  allows(nowUs: number): boolean {
    const state = this.stateAt(nowUs);
    return state === "closed" || (state === "half-open" && !this.#isProbing);
  }

  /** It opened because calls failed, not because they were slow. */
  get isForFailure(): boolean {
    return this.#isForFailure;
  }

  get openUntilUs(): number {
    return this.#openUntilUs;
  }

  /** @returns to be given back once, to `end` or `abstain`. */
  begin(nowUs: number): Ballot {
    const state = this.stateAt(nowUs);
    if (state === "closed") return this.#ballot;
    if (state === "open" || this.#isProbing) return NO_VOTE;
    this.#isProbing = true;
    return this.#ballot;
  }

  /** A call has ended without saying anything about the target: the caller left, or another attempt was faster. */
  abstain(ballot: Ballot): void {
    if (ballot === this.#ballot) this.#isProbing = false;
  }

  end(ballot: Ballot, verdict: Verdict, nowUs: number): void {
    const state = this.stateAt(nowUs);
    if (ballot !== this.#ballot) return;
    if (state === "half-open") {
      if (verdict === "good") this.#close();
      else this.#open(verdict === "failed", nowUs);
      return;
    }
    this.#count(verdict, nowUs);
  }

  /** A call that was found good has broken after all: one more failure, unless the breaker is open anyway. */
  broke(nowUs: number): void {
    if (this.stateAt(nowUs) === "closed") this.#count("failed", nowUs);
  }

  #count(verdict: Verdict, nowUs: number): void {
    this.#streak = verdict === this.#last ? this.#streak + 1 : 1;
    this.#last = verdict;
    this.#turn(nowUs);
    this.#calls[this.#slice]! += 1;
    if (verdict === "failed") this.#failed[this.#slice]! += 1;
    if (verdict === "slow") this.#slow[this.#slice]! += 1;
    if (verdict !== "good") this.#judge(nowUs);
  }

  #turnTo(state: BreakerState): void {
    this.#state = state;
    this.#ballot += 1;
    this.#isProbing = false;
    this.#streak = 0;
  }

  #judge(nowUs: number): void {
    if (this.#streak >= this.#policy.callsMin) {
      this.#open(this.#last === "failed", nowUs);
      return;
    }
    const calls = sum(this.#calls);
    if (calls < this.#policy.callsMin) return;
    const failedShare = sum(this.#failed) / calls;
    const slowShare = (sum(this.#failed) + sum(this.#slow)) / calls;
    if (failedShare >= this.#policy.failShare) this.#open(true, nowUs);
    else if (slowShare >= this.#policy.slowShare) this.#open(false, nowUs);
  }

  #open(isForFailure: boolean, nowUs: number): void {
    this.#turnTo("open");
    this.#isForFailure = isForFailure;
    this.#openUntilUs = nowUs + this.#policy.openUs * this.#openFactor;
    this.#openFactor = Math.min(this.#openFactor * 2, OPEN_FACTOR_MAX);
    this.opened += 1;
  }

  #close(): void {
    this.#turnTo("closed");
    this.#openFactor = 1;
    for (const counts of [this.#calls, this.#failed, this.#slow]) counts.fill(0);
  }

  /** Slices that have grown older than the window are emptied. */
  #turn(nowUs: number): void {
    const sliceUs = this.#policy.windowUs / SLICES;
    if (nowUs - this.#sliceEndsUs >= this.#policy.windowUs) {
      for (const counts of [this.#calls, this.#failed, this.#slow]) counts.fill(0);
      this.#sliceEndsUs = nowUs + sliceUs;
      return;
    }
    while (nowUs >= this.#sliceEndsUs) {
      this.#slice = (this.#slice + 1) % SLICES;
      for (const counts of [this.#calls, this.#failed, this.#slow]) counts[this.#slice] = 0;
      this.#sliceEndsUs += sliceUs;
    }
  }
}

function sum(counts: Float64Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
