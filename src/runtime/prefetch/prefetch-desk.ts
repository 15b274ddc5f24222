/** What all turns of a `Prefetcher` share: guesses, budget, and the count of what came of them. */
import {
  type LoggedTurn,
  type PatternMiner,
  Predictor,
  type PrefetchBudget,
  PrefetchGovernor,
  type PrefetchRefusal,
  type PrefetchRule,
} from "../../policy/prefetch/index.ts";
import type { Release } from "../execution.ts";

/** Why a call that was begun on a guess was thrown away. */
export type ThrowAway =
  /** The model asked for something else, or for nothing. */
  | "missed"
  /** It came true later than its result may be used. */
  | "stale"
  /** A call that was asked for needed its place. */
  | "evicted"
  /** It threw, or took too long. */
  | "failed"
  /** A call that changes something came between. */
  | "changed"
  /** The message or the turn has ended as one that asks for nothing. */
  | "ended";

/** Why a guess was not begun, beside what the budget says. */
export type NotBegun =
  | PrefetchRefusal
  /** The turn has no such tool, or it may not be started on a guess. */
  | "not-prefetchable"
  /** The arguments do not fit the tool. */
  | "invalid"
  /** By the turn's `admit`. */
  | "blocked"
  /** A call that changes something is on its way. */
  | "changing";

export interface DeskOptions {
  readonly rules: readonly PrefetchRule[];
  readonly miner: PatternMiner | undefined;
  readonly learns: boolean;
  readonly budget: PrefetchBudget;
  readonly freshUs: number;
  readonly onTurn: ((turn: LoggedTurn) => void) | undefined;
}

export class PrefetchDesk {
  readonly governor: PrefetchGovernor;
  readonly predictor: Predictor;
  readonly freshUs: number;
  readonly hasGuesses: boolean;
  /** Begun on a guess, and neither ended nor adopted. */
  running = 0;
  begun = 0;
  hits = 0;
  savedUs = 0;
  wastedUs = 0;
  observerErrors = 0;
  readonly thrownAway: Partial<Record<ThrowAway, number>> = {};
  readonly notBegun: Partial<Record<NotBegun, number>> = {};
  /** Called off, and how their code took it. */
  readonly calledOff = { obeyed: 0, abandoned: 0 };
  /** Of the last guesses, if none of them was begun. */
  lastRefusal: NotBegun | undefined;
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.governor = new PrefetchGovernor(options.budget);
    this.predictor = new Predictor(options.rules, options.miner);
    this.freshUs = options.freshUs;
    this.hasGuesses = options.rules.length > 0 || options.miner !== undefined;
  }

  refused(why: NotBegun): void {
    this.notBegun[why] = (this.notBegun[why] ?? 0) + 1;
    this.lastRefusal = why;
  }

  threwAway(why: ThrowAway): void {
    this.thrownAway[why] = (this.thrownAway[why] ?? 0) + 1;
  }

  released(how: Release): void {
    if (how !== "ended") this.calledOff[how] += 1;
  }

  /** A turn is over. */
  ended(turn: LoggedTurn): void {
    const { learns, miner, onTurn } = this.#options;
    if (turn.steps.length === 0) return;
    if (learns) miner?.learn(turn);
    try {
      onTurn?.(turn);
    } catch {
      // Who looks on must not be able to break what it looks at.
      this.observerErrors += 1;
    }
  }
}
