/**
 * Learns from turns which calls follow which, and where their arguments come from: constants, the user's input, arguments
 * and results of calls before. One pass, one step at a time, in bounded memory; the same turns give the same model.
 *
 * A context is the tools of the last step (`search`, `read+search`, `^` at the start), or of the last two; the longer one
 * counts where it has been seen often enough. After PASTE (arXiv 2603.18897): control flow and data flow are learnt apart,
 * so that a pattern holds for arguments that were never seen.
 */
import { shapeOf } from "./argument-shape.ts";
import { FollowPattern } from "./follow-pattern.ts";
import type { LoggedTurn } from "./logged-turn.ts";
import { callKey, type PastCall, TurnPast, withOrdinals } from "./turn-past.ts";

export interface PatternContext {
  /** Steps that came after it, those without calls included. */
  seen: number;
  /** By tool and place among the calls of that tool in a step: `read#0`, `read#1`. */
  readonly next: Map<string, FollowPattern>;
}

export interface LearnedGuess {
  /** The same for each guess of one pattern. */
  readonly key: string;
  readonly tool: string;
  readonly args: unknown;
  /** How often this pattern has guessed, and how often it was right. */
  readonly tries: number;
  readonly hits: number;
}

/** Further contexts are not learnt. */
const CONTEXTS_MAX = 512;
const NEXT_MAX = 16;
/** From here on all counts of a context are halved, so that it can change its mind. */
const SEEN_MAX = 512;
/** Times a call must have followed. */
const SUPPORT_MIN = 3;
/** The longer memory counts from here on. */
const LONGER_SEEN_MIN = 8;

export class PatternMiner {
  readonly contexts: Map<string, PatternContext>;
  turns: number;

  constructor(contexts = new Map<string, PatternContext>(), turns = 0) {
    this.contexts = contexts;
    this.turns = turns;
  }

  learn(turn: LoggedTurn): void {
    const past = new TurnPast(turn.input);
    for (const [i, { calls }] of turn.steps.entries()) {
      const all = calls.map(({ tool, args, result }) => ({ step: i + 1, tool, args, result }));
      this.#learnStep(past, all);
      past.add(all);
    }
    this.turns += 1;
  }

  guesses(past: TurnPast): readonly LearnedGuess[] {
    const found = new Map<string, LearnedGuess>();
    const taken = new Set<string>();
    for (const [order, name] of past.trail.entries()) {
      const context = this.contexts.get(name);
      if (context === undefined || (order === 0 && context.seen < LONGER_SEEN_MIN)) continue;
      for (const [next, pattern] of context.next) {
        if (taken.has(next) || pattern.came < SUPPORT_MIN) continue;
        const guess = pattern.guess(past);
        if (guess === undefined) continue;
        taken.add(next);
        const tool = toolOf(next);
        const key = callKey(tool, guess.args);
        const { tries, hits } = pattern;
        // Two patterns that say the same are one guess.
        if (!found.has(key)) {
          found.set(key, { key: `${name} → ${next}`, tool, args: guess.args, tries, hits });
        }
      }
    }
    return [...found.values()];
  }

  #learnStep(past: TurnPast, calls: readonly PastCall[]): void {
    const came = new Set(calls.map(({ tool, args }) => callKey(tool, args)));
    for (const name of past.trail) {
      const context = this.#contextOf(name);
      if (context === undefined) continue;
      context.seen += 1;
      for (const [next, pattern] of context.next) {
        const guess = pattern.guess(past);
        if (guess !== undefined) pattern.score(came.has(callKey(toolOf(next), guess.args)));
      }
      for (const [next, { args }] of withOrdinals(calls)) {
        const shaped = shapeOf(args);
        if (shaped !== undefined) patternOf(context, next)?.train(shaped, past);
      }
      if (context.seen >= SEEN_MAX) halve(context);
    }
  }

  #contextOf(name: string): PatternContext | undefined {
    let context = this.contexts.get(name);
    if (context === undefined && this.contexts.size < CONTEXTS_MAX) {
      context = { seen: 0, next: new Map() };
      this.contexts.set(name, context);
    }
    return context;
  }
}

function patternOf(context: PatternContext, next: string): FollowPattern | undefined {
  let pattern = context.next.get(next);
  if (pattern === undefined) {
    if (context.next.size >= NEXT_MAX) {
      const [rarest] = [...context.next].sort(([, x], [, y]) => x.came - y.came);
      if (rarest === undefined || rarest[1].came > 1) return undefined;
      context.next.delete(rarest[0]);
    }
    pattern = new FollowPattern();
    context.next.set(next, pattern);
  }
  return pattern;
}

function halve(context: PatternContext): void {
  context.seen /= 2;
  for (const pattern of context.next.values()) pattern.halve();
}

function toolOf(next: string): string {
  return next.slice(0, next.lastIndexOf("#"));
}
