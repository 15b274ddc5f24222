/**
 * What else runs on the GPU. A cost model says how long a step takes alone; an interference says which share of the GPU's
 * time is left for it at any moment, and so when the step really ends.
 */
import { assert } from "../../core/index.ts";

/** Piecewise constant. Asked in order of time, so that a random one needs to remember no more than its present piece. */
export interface Interference {
  /** Share of the GPU's time that is left, above 0 to 1. */
  leftAt(atUs: number): number;
  /** The next time after `atUs` at which that may change. */
  changesUs(atUs: number): number;
}

/** When work that takes `workUs` alone ends if it starts at `startUs`; whole microseconds. */
export function finishUs(interference: Interference, startUs: number, workUs: number): number {
  let atUs = startUs;
  let leftUs = workUs;
  for (;;) {
    const share = interference.leftAt(atUs);
    assert(share > 0 && share <= 1, "something is left of the GPU");
    const untilUs = interference.changesUs(atUs);
    assert(untilUs > atUs, "a piece ends after its start");
    const doneUs = (untilUs - atUs) * share;
    if (doneUs >= leftUs) return Math.ceil(atUs + leftUs / share);
    leftUs -= doneUs;
    atUs = untilUs;
  }
}

/** All at once: each leaves its share of what the others leave. */
export function together(all: readonly Interference[]): Interference | undefined {
  if (all.length <= 1) return all[0];
  return {
    leftAt: (atUs) => all.reduce((left, one) => left * one.leftAt(atUs), 1),
    changesUs: (atUs) => Math.min(...all.map((one) => one.changesUs(atUs))),
  };
}
