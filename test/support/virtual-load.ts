/** An open-loop run in virtual time, from the first line to the result. */
import { SimClock } from "../../src/clock/index.ts";
import {
  type OpenLoopOptions,
  type ResultRun,
  runOpenLoop,
  type Target,
  type WorkRequest,
} from "../../src/load/index.ts";

export function requestsAt(timesUs: readonly number[]): WorkRequest[] {
  return timesUs.map((atUs) => ({ atUs, promptTokens: 10, outputTokens: 1, row: 0 }));
}

/** Evenly spaced, the first at 0. */
export function every(gapUs: number, count: number): WorkRequest[] {
  return requestsAt(Array.from({ length: count }, (_, i) => i * gapUs));
}

export async function runVirtual(
  requests: readonly WorkRequest[],
  makeTarget: (clock: SimClock) => Target,
  options: Partial<OpenLoopOptions> = {},
): Promise<ResultRun> {
  const clock = new SimClock();
  const run = runOpenLoop({
    name: "test",
    world: "virtual",
    seed: null,
    conditions: {
      target: "script",
      arrivals: "script",
      workload: "script",
      temperature: "warm",
      cacheMode: "none",
      setup: {},
    },
    clock,
    requests,
    spanUs: (requests.at(-1)?.atUs ?? 0) + 1,
    target: makeTarget(clock),
    ...options,
  });
  await clock.run();
  return run;
}

/** A percentile of a result in milliseconds. */
export function msAt(run: ResultRun, metric: string, q: number): number | null {
  const found = run.metrics[metric]?.quantiles.find((quantile) => quantile.q === q)?.value;
  return found === undefined || found === null ? null : found / 1_000;
}
