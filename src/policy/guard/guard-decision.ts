/** What a guard tells its driver to do, and what it remembers of a check. */
import type { GuardStage, Verdict } from "./guard-policy.ts";

/** To be obeyed in order; what a check answers at once is told when its turn has passed, and its decisions come last. */
export type GuardDecision =
  | {
      readonly do: "check";
      /** To be given back with the verdict. */
      readonly check: number;
      /** Index in the policy's rules. */
      readonly rule: number;
      readonly text: string;
    }
  /** Nobody waits for it any more. */
  | { readonly do: "cancel"; readonly check: number }
  /** The oldest `units` that are held are the caller's. */
  | { readonly do: "release"; readonly units: number }
  /** The last decision: nothing that is still held goes out. */
  | { readonly do: "refuse"; readonly refusal: GuardRefusal }
  /** The last decision: the answer has ended and all of it was released. */
  | { readonly do: "finish" };

export interface GuardRefusal {
  readonly stage: GuardStage;
  /** Name of the rule; null if what was to be checked could not be: too large, or never whole. */
  readonly rule: string | null;
  /** `flag`: it was seen and is bad. `failed`: nobody could say, and then it is refused. */
  readonly why: "flag" | "failed";
}

export interface GuardResult {
  readonly rule: string;
  readonly stage: GuardStage;
  readonly verdict: Verdict;
  readonly tookUs: number;
}
