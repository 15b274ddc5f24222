/** What a call tells its driver to do. */
import type { AttemptEnd, BeginCause } from "./attempt-record.ts";
import type { Failure } from "./failure.ts";

export type CallDecision =
  | {
      readonly do: "begin";
      readonly attempt: number;
      readonly target: number;
      readonly cause: BeginCause;
      /** On a connection that is not a kept one. */
      readonly fresh: boolean;
    }
  /** Stop it at once; it says nothing any more. */
  | { readonly do: "cancel"; readonly attempt: number; readonly why: AttemptEnd }
  /** Its answer is the caller's: from the first byte, or, of one that continues, where the former one broke off. */
  | { readonly do: "deliver"; readonly attempt: number }
  | { readonly do: "fail"; readonly failure: CallFailure };

export interface CallFailure extends Omit<Failure, "kind"> {
  readonly kind: Failure["kind"] | "deadline" | "no_target";
  /** Which attempt failed last; undefined if none did. */
  readonly attempt: number | undefined;
  /** Some of the answer is with the caller already. */
  readonly isAfterContent: boolean;
}

/**
 * @param cause what the last attempt failed with, or that time is over.
 * @param attempt undefined: none could be begun.
 */
export function callFailure(
  cause: Failure | "deadline",
  attempt: number | undefined,
  isAfterContent: boolean,
): CallFailure {
  const where = { attempt, isAfterContent };
  if (cause === "deadline") {
    const silent = { status: 0, retryAfterUs: undefined, shouldRetry: undefined };
    return { kind: "deadline", ...silent, ...where };
  }
  return { ...cause, kind: attempt === undefined ? "no_target" : cause.kind, ...where };
}
