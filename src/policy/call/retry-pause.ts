/** How long a call waits before it tries the same target again. */
import type { Random } from "../../clock/index.ts";
import type { RetryPolicy } from "./call-policy.ts";

/** Times the usual pause, where the target has said that it is overloaded. */
const PATIENCE = 4;

export interface PauseReasons {
  /** Attempts so far. */
  readonly tries: number;
  readonly isPatient: boolean;
  /** What the target has asked for; undefined if nothing. */
  readonly retryAfterUs: number | undefined;
}

/** Jitter takes from our own pause and adds to what the target has asked for. */
export function pauseUs(policy: RetryPolicy, reasons: PauseReasons, random: Random): number {
  const { backoffBaseUs, backoffCapUs } = policy;
  const { tries, isPatient, retryAfterUs } = reasons;
  if (retryAfterUs !== undefined) return retryAfterUs + spreadUs(policy, retryAfterUs, random);
  const factor = isPatient ? PATIENCE : 1;
  const doubledUs = backoffBaseUs * factor * 2 ** Math.max(0, tries - 1);
  return Math.ceil(Math.min(backoffCapUs, doubledUs) * (1 - random.next() / 2));
}

/** Whoever waits for one target must not come back in the same instant. @returns µs on top of the wait. */
export function spreadUs(policy: RetryPolicy, waitUs: number, random: Random): number {
  return Math.ceil(Math.min(waitUs / 10, policy.backoffBaseUs) * random.next());
}
