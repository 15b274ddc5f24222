/** What came of prefetching so far, in numbers that can be added up and held against each other. */
import { type GuessReport, type HitInterval, wilson } from "../../policy/prefetch/index.ts";
import type { NotBegun, PrefetchDesk, ThrowAway } from "./prefetch-desk.ts";

export interface PrefetchReport {
  /** Why nothing is begun at present; null if something may be. */
  readonly off: { readonly why: NotBegun | "no-guesses"; readonly text: string } | null;
  /** Calls that were begun on a guess; those that are neither hit nor thrown away are still open. */
  readonly begun: number;
  readonly hits: number;
  /** Of what was begun and has come to an end. */
  readonly hitRate: HitInterval;
  readonly thrownAway: Readonly<Partial<Record<ThrowAway, number>>>;
  readonly notBegun: Readonly<Partial<Record<NotBegun, number>>>;
  /** Measured: how much later the calls would have ended, had they begun when the model asked for them. */
  readonly savedUs: number;
  /** Tool time of what was thrown away. */
  readonly wastedUs: number;
  readonly wastedCost: number;
  /** Of the calls that the model asked for. */
  readonly askedCost: number;
  readonly wasteShare: number;
  /** Called off while they ran: whose code ended within its grace, and whose did not. */
  readonly calledOff: { readonly obeyed: number; readonly abandoned: number };
  /** Rules that threw. */
  readonly ruleErrors: number;
  /** Each rule and pattern that has guessed, begun or not. */
  readonly guesses: readonly GuessReport[];
}

const TEXTS: Readonly<Record<NotBegun | "no-guesses", string>> = {
  "budget-zero": "the budget is zero",
  waste: "calls in vain have cost what the budget allows",
  concurrency: "as many run as the budget allows",
  turn: "the turn has begun as many as the budget allows",
  "does-not-pay": "guesses come true too seldom for what they save",
  loaded: "calls to the back end have become slow",
  slots: "too many places are taken by real calls",
  "not-prefetchable": "the tools that are guessed may not be started on a guess",
  invalid: "the guessed arguments do not fit the tool",
  blocked: "the turn's admission blocks it",
  changing: "a call that changes something is on its way",
  "no-guesses": "there are neither rules nor a learnt model",
};

export function reportOf(desk: PrefetchDesk): PrefetchReport {
  const { purse, report: guesses } = desk.governor;
  const thrownAway = { ...desk.thrownAway };
  const closed = desk.hits + Object.values(thrownAway).reduce((sum, n) => sum + n, 0);
  const why = offReason(desk);
  return {
    off: why === undefined ? null : { why, text: TEXTS[why] },
    begun: desk.begun,
    hits: desk.hits,
    hitRate: wilson(desk.hits, closed),
    thrownAway,
    notBegun: { ...desk.notBegun },
    savedUs: desk.savedUs,
    wastedUs: desk.wastedUs,
    wastedCost: purse.wasted,
    askedCost: purse.asked,
    wasteShare: purse.asked === 0 ? 0 : purse.wasted / purse.asked,
    calledOff: { ...desk.calledOff },
    ruleErrors: desk.predictor.ruleErrors,
    guesses,
  };
}

function offReason(desk: PrefetchDesk): NotBegun | "no-guesses" | undefined {
  if (desk.governor.isZero) return "budget-zero";
  return desk.hasGuesses ? desk.lastRefusal : "no-guesses";
}
