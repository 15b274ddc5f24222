/**
 * Finds the coefficients with which the twin repeats a log. The real scheduler stays in the loop:
 *
 *     coefficients ─▶ replay ─▶ schedule: what ran during each wait and each answer
 *           ▲                        │
 *           └── least squares ◀── what the log says it took
 *
 * Given a schedule the times are linear in the coefficients; the schedule in turn depends on them, so it goes round until
 * the twin's own error falls no more. A compass search on that error comes last, and turns the bend (`freeTokens`), which
 * least squares cannot. Deterministic, and bounded by `replaysMax`.
 */
import {
  type CoefficientName,
  type FittedCoefficients,
  LINEAR_COEFFICIENTS,
} from "../../engine/index.ts";
import { LeastSquares, type Spring } from "./least-squares.ts";
import type { LedgerReplay, LogReplay, ReplayedLog } from "./log-replay.ts";
import { type LoggedRequest, tpotUsOf } from "./request-log.ts";
import { coefficientsOf } from "./start-coefficients.ts";
import { TERMS } from "./step-ledger.ts";

/** What is fitted: prices of steps, and what a request takes outside of them (network, tokenizer, front end). */
export interface FitState {
  readonly coefficients: FittedCoefficients;
  readonly requestUs: number;
}

export interface FitTask {
  readonly replay: LogReplay;
  /** Which requests' measured times may be looked at. */
  readonly seen: (request: number) => boolean;
  /** Where it begins, and where it is drawn to in what the log says little of. */
  readonly start: FitState;
  /** Stay exactly where they start. */
  readonly held: ReadonlySet<Unknown>;
  readonly replaysMax: number;
  readonly onReplay?: (loss: number) => void;
}

export interface FitOutcome extends FitState {
  /** Mean |ln(twin / log)| over TTFT, TPOT and E2E of the requests seen. */
  readonly loss: number;
  readonly replays: number;
  /**
   * How much of each comes from the log and how much from where it started, 0 to 1, at the schedule of the end; not of the
   * bend.
   */
  readonly shares: ReadonlyMap<Unknown, number>;
  /** What no step of the schedule has anything of. */
  readonly absent: ReadonlySet<Unknown>;
}

/** What a fit looks for: the linear coefficients, then `requestUs`, and the bend, which only the compass turns. */
export type Unknown = CoefficientName | "requestUs";
const LINEAR_UNKNOWNS: readonly Unknown[] = [...LINEAR_COEFFICIENTS, "requestUs"];
const UNKNOWNS = LINEAR_UNKNOWNS.length;

/** Beyond this relative error a row pulls with constant force: one odd request must not bend the rest. */
const HUBER = 0.1;
/** A coefficient twice the data sheet's costs as much as this many rows that are off by all of themselves. */
const SPRING = 1e-3;
const ROUNDS_MAX = 12;
const BACKTRACKS_MAX = 3;
const IMPROVEMENT_MIN = 0.002;
const COMPASS_STEPS = [0.2, 0.1, 0.05, 0.025] as const;

/** What each unknown is of the size of, where the data sheet has none or nearly none of it. */
const FLOOR = [100, 0.5, 50, 1e-5, 1e-4, 2, 1e-4, 1_000] as const;

export function fitCoefficients(task: FitTask): FitOutcome {
  const search = new FitSearch(task);
  search.goRound();
  search.compass();
  return search.outcome();
}

/** Mean |ln(twin / log)| of the requests that `seen` lets through. */
export function lossOf(
  requests: readonly LoggedRequest[],
  twin: ReplayedLog,
  seen: (request: number) => boolean,
): number {
  let sum = 0;
  let n = 0;
  for (const [i, request] of requests.entries()) {
    if (!seen(i)) continue;
    const [ttftUs, e2eUs] = [twin.ttftUs[i]!, twin.e2eUs[i]!];
    sum += Math.abs(Math.log(ttftUs / request.ttftUs)) + Math.abs(Math.log(e2eUs / request.e2eUs));
    n += 2;
    const real = tpotUsOf(request);
    const ours = tpotUsOf({ outputTokens: request.outputTokens, ttftUs, e2eUs });
    if (real === undefined || ours === undefined || real <= 0) continue;
    sum += Math.abs(Math.log(Math.max(1, ours) / real));
    n += 1;
  }
  return n === 0 ? 0 : sum / n;
}

/** The rows of the least squares that a replay's schedule and the log give. */
export function* rowsOf(
  requests: readonly LoggedRequest[],
  twin: LedgerReplay,
  requestUs: number,
  seen: (request: number) => boolean,
): Generator<{ readonly x: Float64Array; readonly us: number; readonly twinUs: number }> {
  const x = new Float64Array(UNKNOWNS);
  for (const [i, { atUs, ttftUs, e2eUs, outputTokens }] of requests.entries()) {
    if (!seen(i)) continue;
    const firstUs = atUs + twin.ttftUs[i]! - requestUs;
    const lastUs = atUs + twin.e2eUs[i]! - requestUs;
    twin.ledger.between(atUs, firstUs, x);
    x[TERMS] = 1;
    yield { x, us: ttftUs, twinUs: twin.ttftUs[i]! };
    if (outputTokens < 2 || e2eUs <= ttftUs) continue;
    twin.ledger.between(firstUs, lastUs, x);
    x[TERMS] = 0;
    yield { x, us: e2eUs - ttftUs, twinUs: lastUs - firstUs };
  }
}

interface Trial extends FitState {
  readonly twin: LedgerReplay;
  readonly loss: number;
}

class FitSearch {
  readonly #task: FitTask;
  #best: Trial;
  #replays = 0;

  constructor(task: FitTask) {
    this.#task = task;
    this.#best = this.#try(task.start);
  }

  outcome(): FitOutcome {
    const { coefficients, requestUs, loss } = this.#best;
    const { problem, spring } = this.#problem(this.#best);
    const shares = problem.shares(spring);
    return {
      coefficients,
      requestUs,
      loss,
      replays: this.#replays,
      shares: new Map(LINEAR_UNKNOWNS.map((name, i) => [name, shares[i]!])),
      absent: new Set(LINEAR_UNKNOWNS.filter((_, i) => problem.gram(i, i) === 0)),
    };
  }

  /** Schedule and prices in turn. */
  goRound(): void {
    for (let round = 0; round < ROUNDS_MAX && this.#hasReplays(); round += 1) {
      const before = this.#best.loss;
      let aim = this.#solve(this.#best);
      for (let back = 0; back <= BACKTRACKS_MAX && this.#hasReplays(); back += 1) {
        if (this.#accept(aim)) break;
        aim = between(this.#best, aim);
      }
      if (this.#best.loss > before * (1 - IMPROVEMENT_MIN)) break;
    }
  }

  /** One coefficient at a time, up and down, in ever smaller steps. */
  compass(): void {
    for (const step of COMPASS_STEPS) {
      for (let moved = true; moved && this.#hasReplays(); ) {
        moved = false;
        for (const { name, move } of MOVES) {
          if (this.#task.held.has(name)) continue;
          for (const factor of [1 + step, 1 / (1 + step)]) {
            if (!this.#hasReplays()) return;
            const aim = move(this.#best, factor);
            if (aim === undefined || !this.#accept(aim)) continue;
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

  #accept(aim: FitState): boolean {
    const trial = this.#try(aim);
    if (trial.loss >= this.#best.loss) return false;
    this.#best = trial;
    return true;
  }

  #try(state: FitState): Trial {
    const { replay, seen, onReplay } = this.#task;
    const twin = replay.run(state.coefficients, state.requestUs);
    this.#replays += 1;
    const loss = lossOf(replay.requests, twin, seen);
    onReplay?.(Math.min(loss, this.#replays === 1 ? loss : this.#best.loss));
    return { ...state, twin, loss };
  }

  #solve(from: Trial): FitState {
    const { problem, spring } = this.#problem(from);
    const { held, start } = this.#task;
    const isHeld = LINEAR_UNKNOWNS.map((name) => held.has(name));
    const found = problem.solve(spring, isHeld);
    return {
      coefficients: coefficientsOf(found, from.coefficients.freeTokens),
      requestUs: held.has("requestUs") ? start.requestUs : found[TERMS]!,
    };
  }

  #problem({ twin, requestUs }: Trial): { problem: LeastSquares; spring: Spring } {
    const { replay, seen, start } = this.#task;
    const problem = new LeastSquares(UNKNOWNS);
    let rows = 0;
    for (const { x, us, twinUs } of rowsOf(replay.requests, twin, requestUs, seen)) {
      const off = Math.abs(twinUs / us - 1);
      problem.add(x, us, 1 / us ** 2 / Math.max(1, off / HUBER));
      rows += 1;
    }
    const rest = [...LINEAR_COEFFICIENTS.map((name) => start.coefficients[name]), start.requestUs];
    const scale = rest.map((value, i) => Math.max(value, FLOOR[i]!));
    return { problem, spring: { rest, scale, strength: SPRING * Math.max(1, rows) } };
  }
}

function between(from: FitState, to: FitState): FitState {
  const linear = LINEAR_COEFFICIENTS.map(
    (name) => (from.coefficients[name] + to.coefficients[name]) / 2,
  );
  return {
    coefficients: coefficientsOf(linear, from.coefficients.freeTokens),
    requestUs: (from.requestUs + to.requestUs) / 2,
  };
}

interface Move {
  readonly name: Unknown;
  /** Undefined for a coefficient of nothing: what least squares has thrown out does not come back. */
  readonly move: (state: FitState, factor: number) => FitState | undefined;
}

const MOVES: readonly Move[] = [
  ...([...LINEAR_COEFFICIENTS, "freeTokens"] as const).map(
    (name): Move => ({
      name,
      move: (state, factor) =>
        state.coefficients[name] === 0
          ? undefined
          : {
              ...state,
              coefficients: { ...state.coefficients, [name]: state.coefficients[name] * factor },
            },
    }),
  ),
  {
    name: "requestUs",
    move: (state, factor) =>
      state.requestUs === 0 ? undefined : { ...state, requestUs: state.requestUs * factor },
  },
];
