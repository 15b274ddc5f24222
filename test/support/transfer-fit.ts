/**
 * How far a price with a few global constants carries from some engines to others: the constants are chosen on all runs but
 * one family (model, GPU, number of GPUs) and the family left out is predicted, in turn.
 */
import { interpolatedQuantile, mean } from "./latency-table.ts";
import {
  kernelTables,
  runStages,
  type ServedRun,
  type StageFigures,
  seenByClient,
  type TransferRule,
} from "./vllm-0.15-runs.ts";

export const FIGURES = ["e2eMean", "e2eP99", "itlMean", "ttftMean", "ttftP99"] as const;
export type Figure = (typeof FIGURES)[number];

/** The runs that the constants are chosen on; the others were never used for any choice. */
export const FITTED_RUNS: readonly string[] = ["16", "18", "19", "22", "23", "26", "38", "41"];

/** Once a request, ms: client, HTTP, tokeniser. */
const REQUEST_OVERHEADS_MS = [2, 4, 6, 8, 10, 12, 16, 20];

export interface Constants {
  readonly rule: TransferRule;
  readonly requestOverheadMs: number;
}

/** Every rule's figures of every run, from the engine's side. */
export type Grid = readonly {
  readonly rule: TransferRule;
  readonly stages: ReadonlyMap<ServedRun, readonly StageFigures[]>;
}[];

export function simulateGrid(runs: readonly ServedRun[], rules: readonly TransferRule[]): Grid {
  const tables = {
    "h100-sxm": kernelTables("h100-sxm"),
    "a100-80gb-sxm": kernelTables("a100-80gb-sxm"),
  };
  return rules.map((rule) => ({
    rule,
    stages: new Map(runs.map((run) => [run, runStages(run, rule, tables[run.gpu])])),
  }));
}

/** Signed errors of each stage, %. */
export function stageErrors(
  run: ServedRun,
  stages: readonly StageFigures[],
  requestOverheadMs: number,
): Readonly<Record<Figure, number>>[] {
  return stages.map((engineSide, i) => {
    const ours = seenByClient(engineSide, requestOverheadMs);
    const { real } = run.stages[i]!;
    return Object.fromEntries(
      FIGURES.map((figure) => [figure, 100 * (ours[figure] / real[figure] - 1)]),
    ) as Record<Figure, number>;
  });
}

/** The constants with the least Σ over runs of the mean over stages of |E2E| + ¼ |TTFT| + |ITL| error of the means. */
export function chooseConstants(grid: Grid, runs: readonly ServedRun[]): Constants {
  let best: Constants | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const { rule, stages } of grid) {
    for (const requestOverheadMs of REQUEST_OVERHEADS_MS) {
      const loss = runs.reduce((sum, run) => {
        const errors = stageErrors(run, stages.get(run)!, requestOverheadMs);
        return (
          sum +
          mean(
            errors.map(
              ({ e2eMean, ttftMean, itlMean }) =>
                Math.abs(e2eMean) + 0.25 * Math.abs(ttftMean) + Math.abs(itlMean),
            ),
          )
        );
      }, 0);
      if (loss >= least) continue;
      least = loss;
      best = { rule, requestOverheadMs };
    }
  }
  return best!;
}

export interface Prediction {
  readonly run: ServedRun;
  readonly constants: Constants;
  readonly errors: readonly Readonly<Record<Figure, number>>[];
}

/** Each run predicted with constants chosen on the runs of all other groups. */
export function leaveOneOut(
  grid: Grid,
  runs: readonly ServedRun[],
  groupOf: (run: ServedRun) => string,
): Prediction[] {
  return runs.map((run) => {
    const others = runs.filter((other) => groupOf(other) !== groupOf(run));
    return predict(grid, run, chooseConstants(grid, others));
  });
}

export function predict(grid: Grid, run: ServedRun, constants: Constants): Prediction {
  const { stages } = grid.find(({ rule }) => rule === constants.rule)!;
  return {
    run,
    constants,
    errors: stageErrors(run, stages.get(run)!, constants.requestOverheadMs),
  };
}

/** Median, mean and largest |error| over all stages, %. */
export function summary(
  predictions: readonly Prediction[],
  figure: Figure,
): { median: number; mean: number; max: number } {
  const all = predictions.flatMap(({ errors }) => errors.map((one) => Math.abs(one[figure])));
  return { median: interpolatedQuantile(all, 0.5), mean: mean(all), max: Math.max(...all) };
}
