/** What a `fetch` has done so far, as counts. */
import type { HedgeRefusal } from "../../policy/index.ts";
import { type CallOutcome, failureOf, type ModelCallRecord } from "./call-record.ts";

export interface ModelFetchStats {
  /** Calls of models; what was passed through is in `passed`. */
  readonly calls: number;
  readonly passed: number;
  /** Calls that have ended, by how. */
  readonly outcomes: Readonly<Record<CallOutcome, number>>;
  /** Of calls that have ended, as are all further ones. */
  readonly attempts: number;
  readonly retries: number;
  readonly failovers: number;
  readonly hedges: {
    readonly begun: number;
    readonly won: number;
    readonly lost: number;
    /** Failed, or left with the call. */
    readonly other: number;
    /** That were due and not begun, by why. */
    readonly refused: Readonly<Record<HedgeRefusal, number>>;
  };
  /** Attempts that were given up, or have said no. */
  readonly slow: number;
  readonly failed: number;
  readonly tokens: {
    /** Of prompts, once a call. */
    readonly asked: number;
    /** Of prompts whose answers nobody got. */
    readonly wasted: number;
  };
  /** Times that `observe` has thrown. */
  readonly observerErrors: number;
  /** `fetch`es whose answer is not over, cancelled ones included until they have let go. */
  readonly open: number;
}

type Counts = {
  -readonly [Name in
    | "calls"
    | "passed"
    | "attempts"
    | "retries"
    | "failovers"
    | "slow"
    | "failed"]: number;
};

export class FetchCounts {
  readonly #counts: Counts = {
    calls: 0,
    passed: 0,
    attempts: 0,
    retries: 0,
    failovers: 0,
    slow: 0,
    failed: 0,
  };
  readonly #outcomes: Record<CallOutcome, number> = { ok: 0, refused: 0, failed: 0, cancelled: 0 };
  readonly #hedges = { begun: 0, won: 0, lost: 0, other: 0 };
  readonly #tokens = { asked: 0, wasted: 0 };
  open = 0;
  observerErrors = 0;

  /** @returns the call's number, from 1. */
  begin(): number {
    this.#counts.calls += 1;
    return this.#counts.calls;
  }

  pass(): void {
    this.#counts.passed += 1;
  }

  end({ outcome, attempts, inputTokens }: ModelCallRecord): void {
    this.#outcomes[outcome] += 1;
    this.#tokens.asked += inputTokens;
    for (const attempt of attempts) {
      const { cause, end, cost } = attempt;
      this.#counts.attempts += 1;
      if (cause === "retry" || cause === "reuse_race") this.#counts.retries += 1;
      if (cause === "failover") this.#counts.failovers += 1;
      if (cause === "hedge") this.#endHedge(end);
      const failure = failureOf(attempt);
      if (failure !== undefined) this.#counts[failure] += 1;
      if (end !== "delivered") this.#tokens.wasted += cost.inputTokens;
    }
  }

  read(refused: Readonly<Record<HedgeRefusal, number>>): ModelFetchStats {
    return {
      ...this.#counts,
      outcomes: { ...this.#outcomes },
      hedges: { ...this.#hedges, refused },
      tokens: { ...this.#tokens },
      observerErrors: this.observerErrors,
      open: this.open,
    };
  }

  #endHedge(end: string | undefined): void {
    this.#hedges.begun += 1;
    if (end === "delivered") this.#hedges.won += 1;
    else if (end === "lost") this.#hedges.lost += 1;
    else this.#hedges.other += 1;
  }
}
