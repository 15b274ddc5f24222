/**
 * What guardrails cost and say: each check by rule and verdict, and what they have added to a call by the way it took
 * (clean, flagged and let go, refused, refused for want of a verdict), so that the price of the rare path and the tax on
 * everybody's stand side by side.
 */
import type { GuardResult, GuardTax } from "../../policy/index.ts";
import type { MetricPage } from "../seeing/metric-page.ts";
import type { TimeHistogram } from "../seeing/time-histogram.ts";
import type { GuardWatch } from "./guard-set.ts";

const BOUNDS_S = [
  0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.8,
  1, 2, 5, 10,
];

export class GuardMetrics implements GuardWatch {
  readonly #checks: TimeHistogram;
  readonly #first: TimeHistogram;
  readonly #last: TimeHistogram;

  constructor(page: MetricPage) {
    const times = (name: string, help: string, labels: readonly string[]): TimeHistogram =>
      page.times(`guard_${name}`, help, BOUNDS_S, labels);
    this.#checks = times("check_seconds", "Time of one check", ["guard", "stage", "verdict"]);
    this.#first = times(
      "first_held_seconds",
      "Time that the first of an answer waited for its checks: what they add to TTFT",
      ["model", "path"],
    );
    this.#last = times(
      "last_held_seconds",
      "Time that the last of an answer waited for its checks: what they add to the end",
      ["model", "path"],
    );
  }

  checked({ rule, stage, verdict, tookUs }: GuardResult): void {
    this.#checks.record(this.#checks.book.at(rule, stage, verdict), tookUs);
  }

  ended(model: string, { path, firstHeldUs, lastHeldUs }: GuardTax): void {
    // A refusal releases nothing and waits for nothing more; it is one of its path all the same.
    this.#first.record(this.#first.book.at(model, path), firstHeldUs ?? 0);
    if (lastHeldUs !== null) this.#last.record(this.#last.book.at(model, path), lastHeldUs);
  }
}
