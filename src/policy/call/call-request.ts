/** What a call asks for, and what it shares with the other calls of its route. */
import type { Random } from "../../clock/index.ts";
import type { AttemptBudget } from "./attempt-budget.ts";
import type { CallPolicy } from "./call-policy.ts";
import type { HedgeGovernor } from "./hedge-governor.ts";
import type { Target } from "./target.ts";

export interface CallRequest {
  /** Tokens of the prompt, as well as they can be told. */
  readonly inputTokens: number;
  readonly isStream: boolean;
  /** No effect beyond the answer: it may be computed twice. */
  readonly isRepeatable: boolean;
  readonly receivedUs: number;
  /** What the caller itself has set, as an instant; infinite if nothing. */
  readonly deadlineUs: number;
}

/** What the calls of one route share. */
export interface CallRoute {
  readonly policy: CallPolicy;
  readonly targets: readonly Target[];
  readonly retries: AttemptBudget;
  readonly hedges: AttemptBudget;
  /** null: never. */
  readonly hedger: HedgeGovernor | null;
  readonly random: Random;
}
