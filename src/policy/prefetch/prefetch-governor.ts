/**
 * Which guesses are started: those that pay by `expected-saving.ts`, dearest value per cost first, within the budget. It
 * backs off by itself where a guess does not pay or a back end is loaded. Pure; times and outcomes are told.
 *
 *     on ── even the upper end of the hit rate is below break-even ──► off
 *     off ─ the lower end is above break-even again ─────────────────► on
 *
 * Guesses go on being compared with the calls that come while they are off: a probe that costs nothing.
 */

import { breakEvenRate, startValueUs } from "./expected-saving.ts";
import { type HitInterval, HitRate } from "./hit-rate.ts";
import { LoadWatch } from "./load-watch.ts";
import { isZero, limitsOf, type PrefetchBudget, type PrefetchLimits } from "./prefetch-budget.ts";
import type { PrefetchGuess } from "./prefetch-rule.ts";
import { RecentTimes } from "./recent-times.ts";
import { WastePurse } from "./waste-purse.ts";

export type PrefetchRefusal =
  /** The budget is zero. */
  | "budget-zero"
  /** Calls in vain have cost what they may. */
  | "waste"
  | "concurrency"
  | "turn"
  /** Its guesses come true too seldom for what they save. */
  | "does-not-pay"
  /** Calls to its back end have become slow. */
  | "loaded"
  /** Too many of the places are taken. */
  | "slots";

export interface PrefetchCandidate extends PrefetchGuess {
  readonly resource: string;
  /** Of one call; above 0. */
  readonly cost: number;
  /** Share of its places that are taken, 0 to 1. */
  readonly pressure: number;
}

export type PrefetchVerdict<Candidate extends PrefetchCandidate> =
  | { readonly candidate: Candidate; readonly start: true }
  | { readonly candidate: Candidate; readonly start: false; readonly why: PrefetchRefusal };

interface Evidence {
  readonly rate: HitRate;
  isOn: boolean;
  tries: number;
  hits: number;
}

export interface GuessReport {
  readonly key: string;
  readonly isOn: boolean;
  /** Recent ones weigh more. */
  readonly hitRate: HitInterval;
  readonly tries: number;
  readonly hits: number;
}

const HALF_LIFE = 50;
/** Further rules and patterns are never started: they cannot be watched. */
const KEYS_MAX = 2_000;
/** As long as no time is known, a guess pays from here on. */
const UNTIMED_RATE = 0.4;

export class PrefetchGovernor {
  readonly limits: PrefetchLimits;
  readonly purse: WastePurse;
  readonly #load = new LoadWatch();
  readonly #thinks = new RecentTimes();
  readonly #tools = new Map<string, RecentTimes>();
  readonly #evidence = new Map<string, Evidence>();

  /** @throws MANX_TOOL_INVALID */
  constructor(budget: PrefetchBudget = {}) {
    this.limits = limitsOf(budget);
    this.purse = new WastePurse(this.limits.wasteShare);
  }

  get isZero(): boolean {
    return isZero(this.limits);
  }

  /** The model has thought this long about a message. */
  thought(us: number): void {
    this.#thinks.record(us);
  }

  /** A call has taken this long, whoever began it. */
  took(tool: string, resource: string, us: number): void {
    this.#load.took(resource, us);
    let times = this.#tools.get(tool);
    if (times === undefined) {
      if (this.#tools.size >= KEYS_MAX) return;
      times = new RecentTimes();
      this.#tools.set(tool, times);
    }
    times.record(us);
  }

  isLoaded(resource: string): boolean {
    return this.#load.isLoaded(resource);
  }

  /** A guess, started or not, has been held against what the model asked for. */
  scored({ key, prior, tool, cost }: Scored, isHit: boolean): void {
    const evidence = this.#evidenceOf(key, prior);
    if (evidence === undefined) return;
    evidence.rate.note(isHit);
    evidence.tries += 1;
    if (isHit) evidence.hits += 1;
    const { low, high } = evidence.rate.interval;
    const breakEven = this.#breakEven(tool, cost);
    if (high < breakEven) evidence.isOn = false;
    else if (low > breakEven) evidence.isOn = true;
  }

  /** @param out starts that run, over all turns, and those of this turn so far. What is to start has been paid for. */
  decide<Candidate extends PrefetchCandidate>(
    candidates: readonly Candidate[],
    out: { readonly running: number; readonly turn: number },
  ): readonly PrefetchVerdict<Candidate>[] {
    let { running, turn } = out;
    const valued = candidates.map((candidate) => ({ candidate, worth: this.#worth(candidate) }));
    valued.sort((a, b) => b.worth / b.candidate.cost - a.worth / a.candidate.cost);
    return valued.map(({ candidate, worth }) => {
      const why = this.#refusal(candidate, worth, { running, turn });
      if (why !== undefined) return { candidate, start: false, why };
      running += 1;
      turn += 1;
      return { candidate, start: true };
    });
  }

  get report(): readonly GuessReport[] {
    return [...this.#evidence].map(([key, { rate, isOn, tries, hits }]) => {
      return { key, isOn, hitRate: rate.interval, tries, hits };
    });
  }

  #refusal(
    candidate: PrefetchCandidate,
    worth: number,
    { running, turn }: { readonly running: number; readonly turn: number },
  ): PrefetchRefusal | undefined {
    const { concurrency, callsPerTurn, pressureMax } = this.limits;
    if (this.isZero) return "budget-zero";
    if (worth <= 0 || this.#evidence.get(candidate.key)?.isOn === false) return "does-not-pay";
    if (this.#load.isLoaded(candidate.resource)) return "loaded";
    if (candidate.pressure >= pressureMax) return "slots";
    if (turn >= callsPerTurn) return "turn";
    if (running >= concurrency) return "concurrency";
    return this.purse.tryHold(candidate.cost) ? undefined : "waste";
  }

  #worth({ key, prior, tool, cost }: PrefetchCandidate): number {
    const evidence = this.#evidenceOf(key, prior);
    if (evidence === undefined) return 0;
    const { value } = evidence.rate.interval;
    const savedUs = this.#savedUs(tool);
    if (savedUs === undefined) return value >= UNTIMED_RATE ? 1 : 0;
    return startValueUs(Number.isNaN(value) ? 0 : value, savedUs, this.limits.missUs * cost);
  }

  #breakEven(tool: string, cost: number): number {
    const savedUs = this.#savedUs(tool);
    return savedUs === undefined ? UNTIMED_RATE : breakEvenRate(savedUs, this.limits.missUs * cost);
  }

  /** E[min(T, G)] over recent times, drawn independently; undefined before there are any. */
  #savedUs(tool: string): number | undefined {
    return this.#tools.get(tool)?.meanOfLesser(this.#thinks);
  }

  #evidenceOf(key: string, prior: PrefetchGuess["prior"]): Evidence | undefined {
    let evidence = this.#evidence.get(key);
    if (evidence === undefined) {
      if (this.#evidence.size >= KEYS_MAX) return undefined;
      evidence = { rate: new HitRate(HALF_LIFE, prior), isOn: true, tries: 0, hits: 0 };
      this.#evidence.set(key, evidence);
    }
    return evidence;
  }
}

type Scored = Pick<PrefetchCandidate, "key" | "prior" | "tool" | "cost">;
