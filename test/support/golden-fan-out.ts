/** Golden scenario G2: five branches of typically 2 s, in 1 % of cases of each a retrieval that takes 20 s. */
import { Random } from "../../src/clock/index.ts";
import { US_PER_S } from "../../src/core/index.ts";
import type { BranchSample, FanOutSamples } from "../../src/runtime/index.ts";

export const GOLDEN_BRANCHES: readonly string[] = ["papers", "web", "code", "notes", "mail"];

function branch(random: Random, hiccups: boolean): BranchSample {
  const model = 1.6 * US_PER_S * Math.exp(0.25 * random.normal());
  const retrieval = hiccups ? 20.4 * US_PER_S : 0.4 * US_PER_S * Math.exp(0.1 * random.normal());
  return { us: Math.round(model + retrieval), parts: { model, retrieval } };
}

/** @param together the branches of a request hiccup all at once, or each for itself. */
export function goldenRows(n: number, together = false): BranchSample[][] {
  const random = new Random(1, "golden");
  return Array.from({ length: n }, () => {
    const all = random.next() < 0.01;
    return GOLDEN_BRANCHES.map(() => branch(random, together ? all : random.next() < 0.01));
  });
}

/** One agent that does it all: typically 3.2 s, p99 about 4 s. */
export function goldenBefore(n: number): number[] {
  const random = new Random(2, "one agent");
  return Array.from({ length: n }, () =>
    Math.round(3.2 * US_PER_S * Math.exp(0.1 * random.normal())),
  );
}

export function goldenFanOut(n = 10_000): FanOutSamples {
  return { branches: GOLDEN_BRANCHES, rows: goldenRows(n), before: goldenBefore(n) };
}
