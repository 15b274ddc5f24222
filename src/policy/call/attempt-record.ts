/** What became of one attempt: for the log, the cost record and the caller's own timeline. Instants in µs on the call's clock. */
import type { FailureKind } from "./failure.ts";

export type BeginCause = "first" | "retry" | "failover" | "hedge" | "reuse_race" | "continue";

export type AttemptEnd =
  /** Its answer went to the caller, whole. */
  | "delivered"
  /** Another attempt was faster. */
  | "lost"
  /** The caller left, or the deadline came. */
  | "abandoned"
  | FailureKind;

export interface AttemptRecord {
  /** From 0, in the order in which they began. */
  readonly attempt: number;
  /** Index of the target. */
  readonly target: number;
  readonly cause: BeginCause;
  readonly beganUs: number;
  /** The request went out on an open connection; undefined if it never did. */
  sentUs: number | undefined;
  headUs: number | undefined;
  /** First output of the model. */
  contentUs: number | undefined;
  endedUs: number | undefined;
  end: AttemptEnd | undefined;
  /** HTTP status; 0 if no head came. */
  status: number;
}

export function beginRecord(
  attempt: number,
  target: number,
  cause: BeginCause,
  nowUs: number,
): AttemptRecord {
  return {
    attempt,
    target,
    cause,
    beganUs: nowUs,
    sentUs: undefined,
    headUs: undefined,
    contentUs: undefined,
    endedUs: undefined,
    end: undefined,
    status: 0,
  };
}
