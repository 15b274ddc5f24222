/** What goes into admission and what comes out: a request, its outcome, and one decision after another about it. */
import type { ErrorCode } from "../../core/index.ts";

export interface AdmissionRequest {
  /** The caller's own number for it; not in use by another request that has not ended. */
  readonly id: number;
  /** On whose behalf. */
  readonly tenant: string;
  /** 0 is served first; anything above the last class, 15, counts as that. */
  readonly priority: number;
  /** Tokens of the prompt, counted or estimated. */
  readonly inputTokens: number;
  /** The request's own limit on its answer, if it has one. */
  readonly outputTokensMax: number | undefined;
  /** Whose history predicts the answer's length: a model, or a model and a purpose. */
  readonly route: string;
  /** When the caller gives up, in µs of the same clock as `nowUs`; Infinity for never. */
  readonly deadlineUs: number;
}

export interface Outcome {
  /** As the upstream counted them; what was predicted, if it did not say. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /**
   * From sending upstream (not from arrival: the wait in these queues must not count as the upstream's) to the first
   * content; undefined if none came.
   */
  readonly ttftUs: number | undefined;
  /**
   * False if the upstream could not carry the request: a time-out, a cut, 429, 503, 529. What the caller did wrong, such as
   * a malformed request, is no sign of load and counts as ok.
   */
  readonly ok: boolean;
}

export type RefusalReason =
  /** The lane holds as many as it may. */
  | "queue-full"
  /** The tenant has its share of the lane's places. */
  | "tenant-queue-full"
  /** It would wait, or has waited, longer than any request may. */
  | "age"
  /** It would not start before its deadline. */
  | "deadline"
  /** Its deadline had passed when it came or when its turn came. */
  | "deadline-passed"
  /** The tenant's token rate would hold it up for longer than it may wait. */
  | "rate"
  /** The tenant's own concurrency would. */
  | "concurrency";

export const REFUSAL_REASONS: readonly RefusalReason[] = [
  "queue-full",
  "tenant-queue-full",
  "age",
  "deadline",
  "deadline-passed",
  "rate",
  "concurrency",
];

export interface Admitted {
  readonly kind: "admit";
  readonly id: number;
  readonly lane: string;
  /** 0 if it did not have to wait. */
  readonly waitedUs: number;
  /** Prompt and predicted answer: what it was charged. */
  readonly tokens: number;
}

export interface Queued {
  readonly kind: "queue";
  readonly id: number;
  readonly lane: string;
  /** How many are expected to go before it, from 0; those that come later with more right to go are not foreseen. */
  readonly position: number;
  /** Expected wait; undefined as long as nothing of its lane has ended. */
  readonly estimateUs: number | undefined;
}

export interface Refused {
  readonly kind: "refuse";
  readonly id: number;
  readonly lane: string;
  readonly code: ErrorCode;
  readonly reason: RefusalReason;
  /** When to try again, from the rate at which the queue drains; for a Retry-After header, rounded up. */
  readonly retryAfterUs: number;
}

export type Decision = Admitted | Queued | Refused;
