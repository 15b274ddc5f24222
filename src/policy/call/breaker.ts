/**
 * Takes a target that is ill out of the choice and tries it again later.
 *
 *     closed ──share of failed or slow calls over the limit──► open ──openUs──► half-open ─┬─ good ─► closed
 *                                                                ▲                         │
 *                                                                └──────── bad, twice as long
 *
 * It only steers: whether a call waits, goes elsewhere or fails is the caller's decision. Slow and failed are told apart,
 * since a slow target is still better than none.
 */
import type { BreakerPolicy } from "./call-policy.ts";

export type BreakerState = "closed" | "open" | "half-open";
export type Verdict = "good" | "slow" | "failed";

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
  #probing = false;
  #isForFailure = false;
  /** How often it has opened. */
  opened = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  stateAt(nowUs: number): BreakerState {
    if (this.#state === "open" && nowUs >= this.#openUntilUs) this.#state = "half-open";
    return this.#state;
  }

  /** Whether a call may go there now. In the half-open state it is one call at a time. */
  allows(nowUs: number): boolean {
    const state = this.stateAt(nowUs);
    return state === "closed" || (state === "half-open" && !this.#probing);
  }

  /** It opened because calls failed, not because they were slow. */
  get isForFailure(): boolean {
    return this.#isForFailure;
  }

  get openUntilUs(): number {
    return this.#openUntilUs;
  }

  begin(nowUs: number): void {
    if (this.stateAt(nowUs) === "half-open") this.#probing = true;
  }

  /** A call has ended without saying anything about the target: the caller left, or another attempt was faster. */
  abstain(): void {
    this.#probing = false;
  }

  end(verdict: Verdict, nowUs: number): void {
    const state = this.stateAt(nowUs);
    this.#probing = false;
    if (state === "half-open") {
      if (verdict === "good") this.#close();
      else this.#open(verdict === "failed", nowUs);
      return;
    }
    this.#turn(nowUs);
    this.#calls[this.#slice]! += 1;
    if (verdict === "failed") this.#failed[this.#slice]! += 1;
    if (verdict === "slow") this.#slow[this.#slice]! += 1;
    if (verdict !== "good" && state === "closed") this.#judge(nowUs);
  }

  #judge(nowUs: number): void {
    const calls = sum(this.#calls);
    if (calls < this.#policy.callsMin) return;
    const failedShare = sum(this.#failed) / calls;
    const slowShare = (sum(this.#failed) + sum(this.#slow)) / calls;
    if (failedShare >= this.#policy.failShare) this.#open(true, nowUs);
    else if (slowShare >= this.#policy.slowShare) this.#open(false, nowUs);
  }

  #open(isForFailure: boolean, nowUs: number): void {
    this.#state = "open";
    this.#isForFailure = isForFailure;
    this.#openUntilUs = nowUs + this.#policy.openUs * this.#openFactor;
    this.#openFactor = Math.min(this.#openFactor * 2, OPEN_FACTOR_MAX);
    this.opened += 1;
  }

  #close(): void {
    this.#state = "closed";
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
