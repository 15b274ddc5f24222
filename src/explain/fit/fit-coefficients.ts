/**
 * Finds the coefficients with which the twin repeats a log. The real scheduler stays in the loop:
 *
 *     coefficients ─▶ replay ─▶ schedule: what ran during each wait and each answer
 *           ▲                        │
 *           └── least squares ◀── what the log says it took
 *
 * First all prices are made longer or shorter by one factor, so that a slower GPU than the sheet's is slower in what the log
 * does not tell, too. Given a schedule the times are linear in the coefficients but for the bend, which is chosen from a
 * list; the schedule in turn depends on them, so it goes round until the twin's own error falls no more. A compass search
 * on that error comes last: least squares minimises what it can, not what is asked. Deterministic, bounded by `replaysMax`.
 */
import {
  type CoefficientName,
  type FittedCoefficients,
  LINEAR_COEFFICIENTS,
} from "../../engine/index.ts";
import { BENDS } from "./bends.ts";
import { type FitRow, OUTSIDE } from "./fit-rows.ts";
import { LeastSquares, type Spring } from "./least-squares.ts";
import { coefficientsOf } from "./start-coefficients.ts";
import { BENT_TERM, TERMS } from "./step-ledger.ts";

/** What is fitted: prices of steps, and what a request takes outside of them (network, tokenizer, front end). */
export interface FitState {
  readonly coefficients: FittedCoefficients;
  readonly requestUs: number;
}

/** What was measured, and the twin of it. */
export interface FitEvidence<Twin> {
  run(state: FitState): Twin;
  /** What the twin's schedule and the measurement say together. */
  rows(twin: Twin, requestUs: number): Iterable<FitRow>;
  /** Mean |ln(twin / measured)| over what may be looked at. */
  loss(twin: Twin): number;
}

export interface FitTask<Twin> {
  readonly evidence: FitEvidence<Twin>;
  /** Where it begins, and, made longer or shorter as a whole, is drawn to in what the log says little of. */
  readonly start: FitState;
  /** Of that draw: a coefficient off by its own size costs as much as every row being off by the root of this. */
  readonly strength: number;
  readonly replaysMax: number;
  /** Waited for, so that a long fit can be watched and interrupted. */
  readonly onReplay?: (loss: number) => Promise<void> | void;
}

export interface FitOutcome extends FitState {
  /** Mean |ln(twin / measured)|. */
  readonly loss: number;
  readonly replays: number;
  /** How much of each the log tells, 0 to 1; of the bend, 0 or 1. */
  readonly told: ReadonlyMap<Unknown, number>;
  /** What no step of the schedule has anything of. */
  readonly absent: ReadonlySet<Unknown>;
}

export type Unknown = CoefficientName | "requestUs";
/** In the order of the least squares. */
const LINEAR_UNKNOWNS: readonly Unknown[] = [...LINEAR_COEFFICIENTS, "requestUs"];

/** Beyond this relative error a row pulls with constant force: one odd request must not bend the rest. */
const HUBER = 0.1;
/** To be told, a coefficient must move the log's times by the root of this, 1 %, in a way that no other can. */
const TOLD = 1e-4;
/** Bends are as good whose squares are within this share of the best's, or within 0.5 % of a row's time. */
const BEND_WITHIN = 0.05;
const BEND_NEAR = 0.005 ** 2;
const ROUNDS_MAX = 12;
const SCALE_ROUNDS = 3;
const SCALE_NEAR = 0.01;
const BACKTRACKS_MAX = 3;
const IMPROVEMENT_MIN = 0.002;
const COMPASS_STEPS = [0.2, 0.1, 0.05, 0.025] as const;

/** What each unknown is of the size of, where the data sheet has none or nearly none of it. */
const FLOOR = [100, 0.5, 50, 1e-5, 1e-4, 2, 1e-4, 1_000] as const;

export async function fitCoefficients<Twin>(task: FitTask<Twin>): Promise<FitOutcome> {
  const search = await FitSearch.begin(task);
  await search.scale();
  await search.goRound();
  await search.compass();
  return search.outcome();
}

/** Least squares alone, for comparing strengths. */
export async function fitRoughly<Twin>(task: FitTask<Twin>): Promise<RoughFit<Twin>> {
  const search = await FitSearch.begin(task);
  await search.scale();
  await search.goRound();
  return search.rough();
}

interface RoughFit<Twin> {
  readonly twin: Twin;
  readonly replays: number;
}

interface SolvedProblem {
  readonly bend: number;
  readonly problem: LeastSquares;
  readonly found: readonly number[];
  /** Of what is left of the error. */
  readonly squares: number;
  /** Rows, the pieces of an answer as one. */
  readonly weights: number;
}

interface Trial<Twin> extends FitState {
  readonly twin: Twin;
  readonly loss: number;
}

class FitSearch<Twin> {
  readonly #task: FitTask<Twin>;
  /** Where the springs rest: the start, scaled. */
  #rest: FitState;
  #best: Trial<Twin>;
  #replays = 1;

  private constructor(task: FitTask<Twin>, first: Trial<Twin>) {
    this.#task = task;
    this.#rest = task.start;
    this.#best = first;
  }

  static async begin<Twin>(task: FitTask<Twin>): Promise<FitSearch<Twin>> {
    const { evidence, start, onReplay } = task;
    const twin = evidence.run(start);
    const loss = evidence.loss(twin);
    await onReplay?.(loss);
    return new FitSearch(task, { ...start, twin, loss });
  }

  /** All prices by one factor, the one by which answers take longer. */
  async scale(): Promise<void> {
    for (let round = 0; round < SCALE_ROUNDS; round += 1) {
      const { twin, requestUs, coefficients } = this.#best;
      const factor = slowness(this.#task.evidence.rows(twin, requestUs));
      if (Math.abs(factor - 1) < SCALE_NEAR) return;
      const linear = LINEAR_COEFFICIENTS.map((name) => coefficients[name] * factor);
      const rest = { requestUs, coefficients: coefficientsOf(linear, coefficients.freeTokens) };
      if (!(await this.#accept(rest))) return;
      this.#rest = rest;
    }
  }

  rough(): RoughFit<Twin> {
    return { twin: this.#best.twin, replays: this.#replays };
  }

  outcome(): FitOutcome {
    const { coefficients, requestUs, loss } = this.#best;
    const byBend = this.#problems(this.#best);
    const here = byBend.find(({ bend }) => bend === coefficients.freeTokens)!;
    const { problem, weights } = here;
    const told = problem.shares(this.#spring(Math.max(TOLD, this.#task.strength) * weights));
    const asGood = asGoodAsBest(byBend);
    const isBendTold = asGood.at(-1)!.bend <= 2 * Math.max(1, asGood[0]!.bend);
    return {
      coefficients,
      requestUs,
      loss,
      replays: this.#replays,
      told: new Map([
        ["freeTokens", isBendTold ? 1 : 0],
        ...LINEAR_UNKNOWNS.map((name, i) => [name, told[i]!] as const),
      ]),
      absent: new Set(LINEAR_UNKNOWNS.filter((_, i) => problem.gram(i, i) === 0)),
    };
  }

  /** Schedule and prices in turn. */
  async goRound(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && this.#hasReplays(); round += 1) {
      const before = this.#best.loss;
      let aim = this.#solve(this.#best);
      for (let back = 0; back <= BACKTRACKS_MAX && this.#hasReplays(); back += 1) {
        if (await this.#accept(aim)) break;
        aim = between(this.#best, aim);
      }
      if (this.#best.loss > before * (1 - IMPROVEMENT_MIN)) break;
    }
  }

  /** One coefficient at a time, up and down, in ever smaller steps. */
  async compass(): Promise<void> {
    for (const step of COMPASS_STEPS) {
      for (let moved = true; moved && this.#hasReplays(); ) {
        moved = false;
        for (const name of LINEAR_UNKNOWNS) {
          for (const factor of [1 + step, 1 / (1 + step)]) {
            if (!this.#hasReplays()) return;
            const aim = scaled(this.#best, name, factor);
            if (aim === undefined || !(await this.#accept(aim))) continue;
            moved = true;
            break;
          }
        }
      }
    }
  }

  #hasReplays(): boolean {
    return this.#replays < this.#task.replaysMax;
  }

  async #accept(aim: FitState): Promise<boolean> {
    const trial = await this.#try(aim);
    if (trial.loss >= this.#best.loss) return false;
    this.#best = trial;
    return true;
  }

  async #try(state: FitState): Promise<Trial<Twin>> {
    const { evidence, onReplay } = this.#task;
    const twin = evidence.run(state);
    this.#replays += 1;
    const loss = evidence.loss(twin);
    await onReplay?.(Math.min(loss, this.#best.loss));
    return { ...state, twin, loss };
  }

  #solve(from: Trial<Twin>): FitState {
    const { freeTokens } = this.#rest.coefficients;
    const asGood = asGoodAsBest(this.#problems(from));
    const best = asGood.reduce((a, b) =>
      Math.abs(b.bend - freeTokens) < Math.abs(a.bend - freeTokens) ? b : a,
    );
    return {
      coefficients: coefficientsOf(best.found, best.bend),
      requestUs: best.found[TERMS]!,
    };
  }

  /** The least squares of this schedule for each place of the bend, solved. */
  #problems({ twin, requestUs }: Trial<Twin>): readonly SolvedProblem[] {
    const { evidence, strength } = this.#task;
    const problems = BENDS.map(() => new LeastSquares(LINEAR_UNKNOWNS.length));
    const terms = new Float64Array(LINEAR_UNKNOWNS.length);
    let weights = 0;
    for (const { x, logUs, twinUs, weight } of evidence.rows(twin, requestUs)) {
      const off = Math.abs(twinUs / logUs - 1);
      const pull = weight / logUs ** 2 / Math.max(1, off / HUBER);
      terms.set(x.subarray(0, TERMS));
      terms[TERMS] = x[OUTSIDE]!;
      for (let bend = 0; bend < BENDS.length; bend += 1) {
        terms[BENT_TERM] = x[TERMS + bend]!;
        problems[bend]!.add(terms, logUs, pull);
      }
      weights += weight;
    }
    const spring = this.#spring(strength * weights);
    return problems.map((problem, i) => {
      const found = problem.solve(spring);
      return { bend: BENDS[i]!, problem, found, squares: problem.squares(found), weights };
    });
  }

  #spring(strength: number): Spring {
    const { coefficients, requestUs } = this.#rest;
    const rest = [...LINEAR_COEFFICIENTS.map((name) => coefficients[name]), requestUs];
    return { rest, scale: rest.map((value, i) => Math.max(value, FLOOR[i]!)), strength };
  }
}

/** The bends that the rows do not tell from the best. */
function asGoodAsBest(byBend: readonly SolvedProblem[]): readonly SolvedProblem[] {
  const least = Math.min(...byBend.map(({ squares }) => squares));
  return byBend.filter(({ squares, weights }) => {
    return squares <= least * (1 + BEND_WITHIN) + BEND_NEAR * weights;
  });
}

/** By what factor answers take longer than in the twin, in the geometric mean. */
function slowness(rows: Iterable<FitRow>): number {
  let sum = 0;
  let weights = 0;
  for (const { x, logUs, twinUs, weight } of rows) {
    // Waits are left out: most of a long one is others' work.
    if (x[OUTSIDE] !== 0 || twinUs <= 0) continue;
    sum += weight * Math.log(logUs / twinUs);
    weights += weight;
  }
  return weights === 0 ? 1 : Math.exp(sum / weights);
}

function between(from: FitState, to: FitState): FitState {
  const linear = LINEAR_COEFFICIENTS.map(
    (name) => (from.coefficients[name] + to.coefficients[name]) / 2,
  );
  return {
    coefficients: coefficientsOf(linear, to.coefficients.freeTokens),
    requestUs: (from.requestUs + to.requestUs) / 2,
  };
}

/** Undefined for a coefficient of nothing: what least squares has thrown out does not come back. */
function scaled(state: FitState, name: Unknown, factor: number): FitState | undefined {
  const { coefficients, requestUs } = state;
  if (name === "requestUs") {
    return requestUs === 0 ? undefined : { coefficients, requestUs: requestUs * factor };
  }
  if (coefficients[name] === 0) return undefined;
  return { requestUs, coefficients: { ...coefficients, [name]: coefficients[name] * factor } };
}
