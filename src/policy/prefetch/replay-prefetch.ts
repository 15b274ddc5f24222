/**
 * What prefetching would have done to turns that were recorded: the same predictor and the same budget, over a log instead
 * of a process. Each step is guessed before it is looked at. Times are the log's; a hit is there at max(G, T), a call that
 * was not guessed at G + T, and the calls of a step run beside each other.
 */
import { type HitInterval, wilson } from "./hit-rate.ts";
import { type LoggedCall, type LoggedStep, turnLog } from "./logged-turn.ts";
import { PatternMiner } from "./pattern-miner.ts";
import { Predictor } from "./predictor.ts";
import type { PrefetchBudget } from "./prefetch-budget.ts";
import {
  type GuessReport,
  type PrefetchCandidate,
  PrefetchGovernor,
  type PrefetchRefusal,
} from "./prefetch-governor.ts";
import type { PrefetchRule } from "./prefetch-rule.ts";
import { callKey, TurnPast } from "./turn-past.ts";

/** Tools that may be started on a guess. */
export interface PrefetchableTool {
  readonly resource: string;
  readonly cost: number;
}

export interface PrefetchReplayOptions {
  readonly tools: ReadonlyMap<string, PrefetchableTool>;
  readonly rules?: readonly PrefetchRule[];
  readonly miner?: PatternMiner;
  /** The miner goes on learning from each turn after it was guessed. */
  readonly learns: boolean;
  readonly budget: PrefetchBudget;
}

export interface PrefetchForecast {
  readonly turns: number;
  /** Lines of the log that are no turn. */
  readonly setAside: number;
  readonly calls: number;
  readonly started: number;
  readonly hits: number;
  /** Of what was started; n is the starts. */
  readonly hitRate: HitInterval;
  /** Calls that were found begun, of all calls. */
  readonly coverage: HitInterval;
  /** µs of all turns. */
  readonly withoutUs: number;
  readonly withUs: number;
  /** Share of the time that is saved per turn: the mean with its 95 % interval over n turns. */
  readonly saved: {
    readonly share: number;
    readonly low: number;
    readonly high: number;
    readonly n: number;
  };
  /** Cost of starts in vain as a share of the model's own calls. */
  readonly wasteShare: number;
  readonly wastedUs: number;
  readonly refused: Readonly<Partial<Record<PrefetchRefusal, number>>>;
  readonly guesses: readonly GuessReport[];
}

export function replayPrefetch(
  log: Iterable<unknown>,
  options: PrefetchReplayOptions,
): PrefetchForecast {
  return new PrefetchReplay(options).over(log);
}

class PrefetchReplay {
  readonly #options: PrefetchReplayOptions;
  readonly #governor: PrefetchGovernor;
  readonly #predictor: Predictor;
  readonly #miner: PatternMiner | undefined;
  readonly #refused: Partial<Record<PrefetchRefusal, number>> = {};
  #calls = 0;
  #started = 0;
  #hits = 0;
  #wastedUs = 0;
  #withoutUs = 0;
  #withUs = 0;
  /** A call in vain is not in the log: it is taken to last as long as the tool's last one. */
  readonly #lastUs = new Map<string, number>();
  readonly #shares = { n: 0, sum: 0, squares: 0 };

  constructor(options: PrefetchReplayOptions) {
    this.#options = options;
    this.#miner = options.miner ?? (options.learns ? new PatternMiner() : undefined);
    this.#governor = new PrefetchGovernor(options.budget);
    this.#predictor = new Predictor(options.rules ?? [], this.#miner);
  }

  over(lines: Iterable<unknown>): PrefetchForecast {
    const { turns, counts } = turnLog(lines);
    for (const turn of turns) {
      const past = new TurnPast(turn.input);
      let startedBefore = 0;
      let [withoutUs, withUs] = [0, 0];
      for (const [i, step] of turn.steps.entries()) {
        const { started, plainUs, prefetchedUs } = this.#step(past, step, startedBefore);
        startedBefore += started;
        withoutUs += plainUs;
        withUs += prefetchedUs;
        past.add(step.calls.map(({ tool, args, result }) => ({ step: i + 1, tool, args, result })));
      }
      this.#add(withoutUs, withUs);
      if (this.#options.learns) this.#miner?.learn(turn);
    }
    return this.#forecast(counts);
  }

  #step(past: TurnPast, step: LoggedStep, startedBefore: number): StepReplay {
    const candidates = this.#candidates(past);
    const verdicts = this.#governor.decide(candidates, { running: 0, turn: startedBefore });
    const begun = new Map<string, PrefetchCandidate>();
    for (const verdict of verdicts) {
      const { candidate } = verdict;
      if (verdict.start) begun.set(callKey(candidate.tool, candidate.args), candidate);
      else this.#refused[verdict.why] = (this.#refused[verdict.why] ?? 0) + 1;
    }
    const started = begun.size;
    const asked = new Set(step.calls.map(({ tool, args }) => callKey(tool, args)));
    let [plainUs, prefetchedUs] = [step.thinkUs, step.thinkUs];
    for (const call of step.calls) {
      const endUs = step.thinkUs + call.tookUs;
      plainUs = Math.max(plainUs, endUs);
      const isHit = this.#claim(begun, call);
      prefetchedUs = Math.max(prefetchedUs, isHit ? call.tookUs : endUs);
      const { resource, cost } = this.#toolOf(call.tool);
      this.#governor.took(call.tool, resource, call.tookUs);
      this.#governor.purse.earn(cost);
    }
    for (const [, { cost, tool }] of begun) {
      this.#governor.purse.close(cost, true);
      this.#wastedUs += this.#lastUs.get(tool) ?? 0;
    }
    for (const one of candidates) {
      this.#governor.scored(one, asked.has(callKey(one.tool, one.args)));
    }
    this.#governor.thought(step.thinkUs);
    this.#calls += step.calls.length;
    this.#started += started;
    return { started, plainUs, prefetchedUs };
  }

  #candidates(past: TurnPast): readonly PrefetchCandidate[] {
    return this.#predictor.guesses(past).flatMap((guess) => {
      const known = this.#options.tools.get(guess.tool);
      return known === undefined ? [] : [{ ...guess, ...known, pressure: 0 }];
    });
  }

  #claim(begun: Map<string, PrefetchCandidate>, { tool, args, tookUs }: LoggedCall): boolean {
    this.#lastUs.set(tool, tookUs);
    const key = callKey(tool, args);
    const candidate = begun.get(key);
    if (candidate === undefined) return false;
    begun.delete(key);
    this.#governor.purse.close(candidate.cost, false);
    this.#hits += 1;
    return true;
  }

  #toolOf(tool: string): PrefetchableTool {
    return this.#options.tools.get(tool) ?? { resource: tool, cost: 1 };
  }

  #add(withoutUs: number, withUs: number): void {
    this.#withoutUs += withoutUs;
    this.#withUs += withUs;
    if (withoutUs === 0) return;
    const share = 1 - withUs / withoutUs;
    this.#shares.n += 1;
    this.#shares.sum += share;
    this.#shares.squares += share * share;
  }

  #forecast(counts: { readonly turns: number; readonly setAside: number }): PrefetchForecast {
    const { n, sum, squares } = this.#shares;
    const mean = n === 0 ? 0 : sum / n;
    const variance = n < 2 ? 0 : Math.max(0, squares / n - mean * mean) * (n / (n - 1));
    const half = n < 2 ? Number.NaN : 1.96 * Math.sqrt(variance / n);
    const { purse, report } = this.#governor;
    return {
      turns: counts.turns,
      setAside: counts.setAside,
      calls: this.#calls,
      started: this.#started,
      hits: this.#hits,
      hitRate: wilson(this.#hits, this.#started),
      coverage: wilson(this.#hits, this.#calls),
      withoutUs: this.#withoutUs,
      withUs: this.#withUs,
      saved: { share: mean, low: mean - half, high: mean + half, n },
      wasteShare: purse.asked === 0 ? 0 : purse.wasted / purse.asked,
      wastedUs: this.#wastedUs,
      refused: { ...this.#refused },
      guesses: report,
    };
  }
}

interface StepReplay {
  readonly started: number;
  readonly plainUs: number;
  readonly prefetchedUs: number;
}
