/** A generated workload: an arrival process, and requests of one size or of sizes drawn around it. */
import { Random } from "../clock/index.ts";
import { assert } from "../core/index.ts";
import { type ArrivalOptions, arrivalTimes } from "./arrivals.ts";
import type { WorkRequest } from "./work-request.ts";

export interface WorkloadOptions extends ArrivalOptions {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Lengths are uniform within ± this share of the two above. Default 0: all alike. */
  readonly spread?: number;
}

/** Requests in order of their intended start, one by one. */
export function* generateWorkload(options: WorkloadOptions): Generator<WorkRequest> {
  const { promptTokens, outputTokens, spread = 0 } = options;
  assert(promptTokens >= 1 && outputTokens >= 1, "a request has at least one token each way");
  assert(spread >= 0 && spread <= 1, "a spread of lengths lies between 0 and 1");
  const random = new Random(options.seed, "lengths");
  const draw = (tokens: number): number =>
    spread === 0
      ? tokens
      : Math.max(1, Math.round(tokens * (1 + spread * (2 * random.next() - 1))));
  for (const atUs of arrivalTimes(options)) {
    yield { atUs, promptTokens: draw(promptTokens), outputTokens: draw(outputTokens), row: 0 };
  }
}
