/**
 * What guardrails cost and say: each check by rule and verdict, and what they have added to a call by the way it took
 * (clean, flagged and let go, refused, refused for want of a verdict), so that the price of the rare path and the tax on
 * everybody's stand side by side.
 */
import { Histogram, type Registry } from "prom-client";
import { US_PER_S } from "../../core/index.ts";
import type { GuardResult, GuardTax } from "../../policy/index.ts";
import type { GuardWatch } from "./guard-set.ts";

const BUCKETS_S = [
  0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.8,
  1, 2, 5, 10,
];

export class GuardMetrics implements GuardWatch {
  readonly #checks: Histogram;
  readonly #first: Histogram;
  readonly #last: Histogram;

  constructor(registry: Registry) {
    const histogram = (name: string, help: string, labelNames: string[]): Histogram => {
      const registers = [registry];
      return new Histogram({
        ...{ name: `manx_gateway_guard_${name}`, help, labelNames, registers },
        buckets: BUCKETS_S,
      });
    };
    this.#checks = histogram("check_seconds", "Time of one check", ["guard", "stage", "verdict"]);
    this.#first = histogram(
      "first_held_seconds",
      "Time that the first of an answer waited for its checks: what they add to TTFT",
      ["model", "path"],
    );
    this.#last = histogram(
      "last_held_seconds",
      "Time that the last of an answer waited for its checks: what they add to the end",
      ["model", "path"],
    );
  }

  checked({ rule, stage, verdict, tookUs }: GuardResult): void {
    this.#checks.observe({ guard: rule, stage, verdict }, tookUs / US_PER_S);
  }

  ended(model: string, { path, firstHeldUs, lastHeldUs }: GuardTax): void {
    // A refusal releases nothing and waits for nothing more; it is one of its path all the same.
    this.#first.observe({ model, path }, (firstHeldUs ?? 0) / US_PER_S);
    if (lastHeldUs !== null) this.#last.observe({ model, path }, lastHeldUs / US_PER_S);
  }
}
