/** What became of one call and each of its attempts: for logs, cost and tests. Never a key, a prompt or an answer. */
import type { ErrorCode } from "../../core/index.ts";
import { type AttemptRecord, isSilence } from "../../policy/index.ts";
import type { CountedTokens, DecodableFormat } from "../../stream/index.ts";

export type CallOutcome =
  /** Whole, or as whole as the caller wanted it. */
  | "ok"
  /** The upstream's own answer says no. */
  | "refused"
  /** No answer, or one that broke off. */
  | "failed"
  /** The caller left before the end. */
  | "cancelled";

export interface AttemptCost {
  /** Prompt tokens that the provider has been given to compute. */
  readonly inputTokens: number;
  /** null: nobody knows. */
  readonly outputTokens: number | null;
  /** The upstream has not said; the prompt's size is told from its bytes. */
  readonly isEstimate: boolean;
}

export interface SeenAttempt extends Readonly<AttemptRecord> {
  readonly targetName: string;
  readonly origin: string;
  readonly cost: AttemptCost;
}

export interface ModelCallRecord {
  /** From 1, within this `fetch`. */
  readonly call: number;
  readonly operation: string;
  readonly format: DecodableFormat | null;
  readonly model: string;
  readonly isStream: boolean;
  /** Of the prompt, told from its bytes. */
  readonly inputTokens: number;
  readonly attempts: readonly SeenAttempt[];
  readonly outcome: CallOutcome;
  /** Status that the caller has got; 0 if it got none. */
  readonly status: number;
  readonly error: ErrorCode | undefined;
  /** Of the answer that was delivered, as far as the upstream has said. */
  readonly usage: Partial<CountedTokens> | undefined;
  readonly beganUs: number;
  /** First output of a stream, from the begin. */
  readonly ttftUs: number | undefined;
  readonly endedUs: number;
}

/** Ends with which an attempt was surely not computed. */
const UNPAID: ReadonlySet<string | undefined> = new Set(["connect", "timeout_connect", "unsuited"]);

export function attemptCost(
  record: AttemptRecord,
  usage: Partial<CountedTokens> | undefined,
  aboutTokens: number,
): AttemptCost {
  const { sentUs, end, status } = record;
  if (sentUs === undefined || UNPAID.has(end) || status >= 400) {
    return { inputTokens: 0, outputTokens: 0, isEstimate: false };
  }
  return {
    inputTokens: usage?.inputTokens ?? aboutTokens,
    outputTokens: usage?.outputTokens ?? null,
    isEstimate: usage?.inputTokens === undefined || usage.outputTokens === undefined,
  };
}

/** Slow and failed are two things: the one may have been at work, the other has said that it is not. */
export function failureOf({ end }: AttemptRecord): "slow" | "failed" | undefined {
  if (end === undefined || end === "delivered" || end === "lost" || end === "abandoned") {
    return undefined;
  }
  return isSilence(end) ? "slow" : "failed";
}
