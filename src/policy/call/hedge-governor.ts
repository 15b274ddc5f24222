/**
 * When a second attempt may start beside one that is still silent. A hedge cures what is slow by chance; if the whole
 * upstream is slow it doubles the load that makes it so (casebook GW-19). Three guards, each enough to say no:
 *
 * - the delay is a recent percentile of the time to first content of prompts of this size;
 * - the budget bounds extra calls and extra tokens, whatever happens;
 * - a change detector (CUSUM, Page 1954) on "did this attempt pass the delay?": by definition 1 − p of them do; once a
 *   target's attempts look rather as if half of them did, nothing more is sent there as a hedge until it is well again.
 *
 * Each target has its own detector, and asked is the one that the hedge would go to: of two targets one may have gone mute,
 * and its calls are then all late and all worth a hedge to the other.
 */
import type { AttemptBudget } from "./attempt-budget.ts";
import type { HedgePolicy } from "./call-policy.ts";
import type { Target } from "./target.ts";

/** Share of calls past the delay that stands for "everything is slow". */
const SLOW_SHARE = 0.5;
/** Three calls past the delay one after the other reach it; two are chance, one time in four hundred at p = 95. */
const ALARM_CALLS = 3;
/** The alarm's height is bounded, so that it ends about ten good calls after the slowness. */
const CEILING_ALARMS = 2;

export type HedgeRefusal = "saturated" | "budget";

export class HedgeGovernor {
  readonly policy: HedgePolicy;
  readonly #budget: AttemptBudget;
  readonly #rise: number;
  readonly #fall: number;
  readonly #alarm: number;
  /** As many as the route has targets. */
  readonly #levels = new Map<Target, number>();
  readonly refusals: Record<HedgeRefusal, number> = { saturated: 0, budget: 0 };

  constructor(policy: HedgePolicy, budget: AttemptBudget) {
    this.policy = policy;
    this.#budget = budget;
    const expected = 1 - policy.percentile / 100;
    this.#rise = Math.log(SLOW_SHARE / expected);
    this.#fall = Math.log((1 - SLOW_SHARE) / (1 - expected));
    this.#alarm = ALARM_CALLS * this.#rise;
  }

  /** @returns µs after the attempt began; infinite while too little is known. */
  delayUs(target: Target, tokens: number): number {
    const quantileUs = target.ttft.quantileUs(tokens, this.policy.percentile / 100);
    return Number.isNaN(quantileUs)
      ? Number.POSITIVE_INFINITY
      : Math.max(Math.ceil(quantileUs), this.policy.floorUs);
  }

  isSaturated(target: Target): boolean {
    return this.#levelOf(target) >= this.#alarm - 1e-9;
  }

  /** An attempt had its first content before its delay was over. */
  notePrompt(target: Target): void {
    this.#levels.set(target, Math.max(0, this.#levelOf(target) + this.#fall));
  }

  /** An attempt is still silent at its delay. */
  noteLate(target: Target): void {
    const risen = this.#levelOf(target) + this.#rise;
    this.#levels.set(target, Math.min(CEILING_ALARMS * this.#alarm, risen));
  }

  /**
   * @param target to which the hedge would go.
   * @returns null if the late call may be hedged, which is paid for then.
   */
  ask(target: Target, tokens: number): HedgeRefusal | null {
    let refusal: HedgeRefusal | null = null;
    if (this.isSaturated(target)) refusal = "saturated";
    else if (!this.#budget.trySpend(tokens)) refusal = "budget";
    if (refusal !== null) this.refusals[refusal] += 1;
    return refusal;
  }

  #levelOf(target: Target): number {
    return this.#levels.get(target) ?? 0;
  }
}
