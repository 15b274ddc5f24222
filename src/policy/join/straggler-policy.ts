/**
 * Hedging of slow branches over many fan-outs. Late is what is slower than a recent percentile of the same branch; extra
 * attempts are a bounded share of all; and a branch that is late again and again is not unlucky but slow, so hedging it
 * stops until it is well, since it would only add load. That last one is a change detector (CUSUM, Page 1954) on "was it
 * late?": by definition 1 − p of the attempts are; the alarm comes once they look rather as if half of them were.
 */
import { assert } from "../../core/index.ts";
import { AttemptBudget } from "../call/attempt-budget.ts";
import { RecentQuantile } from "../call/recent-quantile.ts";
import type { StragglerHedge } from "./join-policy.ts";

export interface StragglerOptions {
  /** Of a branch's own recent times, 50 to 99.9. Default 96, so that the budget is for bad luck and not for the rule. */
  readonly percentile?: number;
  /** µs; never sooner. Default 10 ms. */
  readonly floorUs?: number;
  /** Extra attempts as a share of all branches. Default 0.05. */
  readonly share?: number;
  /** Samples of a branch after which one weighs half. Default 400. */
  readonly halfLife?: number;
}

interface BranchHistory {
  readonly times: RecentQuantile;
  /** Of the detector; never below 0. */
  level: number;
}

/** A percentile of fewer is luck. */
const SAMPLES_MIN = 20;
/** Further names are never hedged: a name per request must not grow this without end. */
const BRANCHES_MAX = 1_000;
/** Extra attempts that may be saved up. */
const SAVED_MAX = 10;
/** Share of late attempts that stands for "it is slow". */
const SLOW_SHARE = 0.5;
/** Late attempts one after the other that raise the alarm. */
const ALARM_LATE = 4;

export class StragglerPolicy implements StragglerHedge {
  readonly #quantile: number;
  readonly #floorUs: number;
  readonly #halfLife: number;
  readonly #budget: AttemptBudget;
  readonly #rise: number;
  readonly #fall: number;
  readonly #branches = new Map<string, BranchHistory>();
  #slow = 0;

  constructor(options: StragglerOptions = {}) {
    const { percentile = 96, floorUs = 10_000, share = 0.05, halfLife = 400 } = options;
    assert(percentile >= 50 && percentile <= 99.9, "a percentile for hedging is 50 to 99.9");
    this.#quantile = percentile / 100;
    this.#floorUs = floorUs;
    this.#halfLife = halfLife;
    this.#budget = new AttemptBudget({ share, callsMax: SAVED_MAX, fill: 0 });
    this.#rise = Math.log(SLOW_SHARE / (1 - this.#quantile));
    this.#fall = Math.log((1 - SLOW_SHARE) / this.#quantile);
  }

  /** Extra attempts so far, and those that the budget or the slowness of a branch has refused. */
  get counts(): { readonly hedged: number; readonly overBudget: number; readonly slow: number } {
    return { hedged: this.#budget.spent, overBudget: this.#budget.refused, slow: this.#slow };
  }

  delayUs(branch: string): number {
    // Only a share is kept, so the time makes no difference.
    this.#budget.earn(1, 0);
    const times = this.#branches.get(branch)?.times;
    if (times === undefined || times.count < SAMPLES_MIN) return Number.POSITIVE_INFINITY;
    return Math.max(this.#floorUs, Math.ceil(times.quantileUs(this.#quantile)));
  }

  mayHedge(branch: string): boolean {
    const level = this.#branches.get(branch)?.level ?? 0;
    if (level >= ALARM_LATE * this.#rise - 1e-9) {
      this.#slow += 1;
      return false;
    }
    return this.#budget.trySpend(1);
  }

  note(branch: string, wasLate: boolean): void {
    const history = this.#branches.get(branch);
    if (history === undefined) return;
    const level = history.level + (wasLate ? this.#rise : this.#fall);
    // Bounded, so that it comes down about as fast as it went up.
    history.level = Math.min(2 * ALARM_LATE * this.#rise, Math.max(0, level));
  }

  record(branch: string, tookUs: number): void {
    let history = this.#branches.get(branch);
    if (history === undefined) {
      if (this.#branches.size >= BRANCHES_MAX) return;
      history = { times: new RecentQuantile(this.#halfLife), level: 0 };
      this.#branches.set(branch, history);
    }
    history.times.record(tookUs);
  }
}
