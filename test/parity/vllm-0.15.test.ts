/**
 * Real vLLM 0.15 on H100 and A100 against the twin with published kernel tables. Two constants for all runs, chosen without
 * the family that is predicted: what a step and what a request cost beside the tables. The short form keeps to the step's
 * 750 µs, which is what the whole search chooses whichever family is left out; npm run bench:fidelity repeats the search.
 */
import { describe, expect, it } from "vitest";
import {
  FITTED_RUNS,
  leaveOneOut,
  predict,
  simulateGrid,
  summary,
} from "../support/transfer-fit.ts";
import { servedRuns, type TransferRule } from "../support/vllm-0.15-runs.ts";

const RULE: TransferRule = {
  stepOverheadUs: 750,
  sequenceOverheadUs: 0,
  ahead: true,
  share: 1,
};

describe("vLLM 0.15, a family of runs predicted from the others", () => {
  const runs = servedRuns().filter(({ id }) => FITTED_RUNS.includes(id));
  const grid = simulateGrid(runs, [RULE]);
  const predictions = leaveOneOut(grid, runs, ({ family }) => family);

  it("has four families and fifteen stages", () => {
    expect(new Set(runs.map(({ family }) => family)).size).toBe(4);
    expect(predictions.flatMap(({ errors }) => errors)).toHaveLength(15);
  });

  it("is within the limits at the median stage", () => {
    expect(summary(predictions, "e2eMean").median).toBeLessThan(3.5);
    expect(summary(predictions, "itlMean").median).toBeLessThan(4);
    expect(summary(predictions, "e2eP99").median).toBeLessThan(9);
    expect(summary(predictions, "ttftMean").median).toBeLessThan(12);
  });

  it("is not on the first token, if steps are not composed ahead", () => {
    const inTime = simulateGrid(runs, [{ ...RULE, ahead: false, share: 0.2 }]);
    const worse = leaveOneOut(inTime, runs, ({ family }) => family);
    expect(summary(worse, "ttftMean").median).toBeGreaterThan(12);
  });

  it("depends on the constants: a step of 10 ms more is far off", () => {
    const run = runs[0]!;
    const slow = simulateGrid([run], [{ ...RULE, stepOverheadUs: 10_000, share: 0.1 }]);
    const far = predict(slow, run, { rule: slow[0]!.rule, requestOverheadMs: 6 });
    expect(Math.min(...far.errors.map(({ itlMean }) => itlMean))).toBeGreaterThan(50);
  });
});
