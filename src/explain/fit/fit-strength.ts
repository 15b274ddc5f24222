/**
 * How much a fit trusts the log against the data sheet. A real engine is not the eight numbers: what they leave out changes
 * from one minute to the next, and a fit that follows every minute is wrong about the next. So each strength is fitted
 * roughly to either half of the requests that may be seen and judged on the other half; the best is taken.
 */
import { type FitTask, fitRoughly } from "./fit-coefficients.ts";
import type { LogEvidence } from "./log-evidence.ts";
import type { LedgerReplay } from "./log-replay.ts";

export interface UnsprungTask extends Omit<FitTask<LedgerReplay>, "strength"> {
  readonly evidence: LogEvidence;
}

/** From the data sheet's side: a weaker one has to be better by `BETTER` to be taken. */
const STRENGTHS = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] as const;
const BETTER = 0.02;
const ROUGH_REPLAYS_MAX = 6;
export const CHOICE_REPLAYS = 2 * STRENGTHS.length * ROUGH_REPLAYS_MAX;

/** @returns the strength, and how many replays it took to find. */
export async function chooseStrength(
  task: UnsprungTask,
): Promise<{ readonly strength: number; readonly replays: number }> {
  const halves = task.evidence.halves();
  const replaysMax = Math.min(task.replaysMax, ROUGH_REPLAYS_MAX);
  let replays = 0;
  let least = Number.POSITIVE_INFINITY;
  let strength: number = STRENGTHS[0];
  for (const tried of STRENGTHS) {
    let loss = 0;
    for (const [evidence, other] of [halves, halves.toReversed()] as const) {
      const rough = await fitRoughly({ ...task, evidence: evidence!, strength: tried, replaysMax });
      replays += rough.replays;
      loss += other!.loss(rough.twin);
    }
    if (loss >= least * (1 - BETTER)) continue;
    least = loss;
    strength = tried;
  }
  return { strength, replays };
}
