/**
 * When a second attempt may start beside one that is still silent. A hedge cures what is slow by chance; if the whole
 * upstream is slow it doubles the load that makes it so (casebook GW-19). Three guards, each enough to say no:
 *
 * - the delay is a recent percentile of the time to first content of prompts of this size;
 * - the budget bounds extra calls and extra tokens, whatever happens;
 * - a detector of slowness (`SlownessWatch`), told of every attempt of the route whether it was late or not.
 *
 * Each target has its own level there, and asked is the one that the hedge would go to: of two targets one may have gone
 * mute, and its calls are then all late and all worth a hedge to the other. A hedge to the same target needs less evidence
 * against it to be refused, since the late call itself is some.
 */
import type { AttemptBudget } from "./attempt-budget.ts";
import type { HedgePolicy } from "./call-policy.ts";
import { SlownessWatch, type WatchedAttempt } from "./slowness-watch.ts";
import type { Target } from "./target.ts";

export type HedgeRefusal = "saturated" | "budget";

export class HedgeGovernor {
  readonly policy: HedgePolicy;
  readonly #budget: AttemptBudget;
  readonly #slowness: SlownessWatch;
  readonly refusals: Record<HedgeRefusal, number> = { saturated: 0, budget: 0 };

  constructor(policy: HedgePolicy, budget: AttemptBudget) {
    this.policy = policy;
    this.#budget = budget;
    this.#slowness = new SlownessWatch(policy.percentile);
  }

  /** @returns µs after the attempt began; infinite while too little is known. */
  delayUs(target: Target, tokens: number): number {
    const quantileUs = target.ttft.quantileUs(tokens, this.policy.percentile / 100);
    return Number.isNaN(quantileUs)
      ? Number.POSITIVE_INFINITY
      : Math.max(Math.ceil(quantileUs), this.policy.floorUs);
  }

  /** Of a stream. @returns to be told of its first content, or of its end; undefined while too little is known. */
  watch(target: Target, tokens: number, nowUs: number): WatchedAttempt | undefined {
    const delayUs = this.delayUs(target, tokens);
    return this.#slowness.begin(target, { tokens, delayUs }, nowUs);
  }

  isSaturated(target: Target, nowUs: number, isItself = false): boolean {
    return this.#slowness.isSlow(target, nowUs, isItself);
  }

  /**
   * @param target to which the hedge would go.
   * @param isItself the late attempt is at the same target.
   * @returns null if the late call may be hedged, which is paid for then.
   */
  ask(target: Target, tokens: number, nowUs: number, isItself = false): HedgeRefusal | null {
    let refusal: HedgeRefusal | null = null;
    if (this.isSaturated(target, nowUs, isItself)) refusal = "saturated";
    else if (!this.#budget.trySpend(tokens)) refusal = "budget";
    if (refusal !== null) this.refusals[refusal] += 1;
    return refusal;
  }
}
