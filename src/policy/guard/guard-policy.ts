/** What is checked, by whom, in which order, and what an answer that never comes means. */

export type GuardStage = "request" | "output";

/** What a check says; `unsure` asks a dearer one, `failed` is a check that could not answer within its budget. */
export type Verdict = "clean" | "flag" | "unsure" | "failed";

export interface GuardRule {
  /** Differs from all others. */
  readonly name: string;
  readonly stage: GuardStage;
  /** What one check may take; then it has failed. */
  readonly budgetUs: number;
  /** open = a check that has failed counts as clean; closed = as a refusal. Also for an `unsure` that nobody settles. */
  readonly onFailure: "open" | "closed";
  /** `unsure`: only if a rule before it in the list could not tell. */
  readonly when: "always" | "unsure";
}

export interface GuardPolicy {
  /** From cheap to dear; at least one of each stage that is used has `when: "always"`. */
  readonly rules: readonly GuardRule[];
  /** New characters of a text that are worth a check; 0 = whatever a read has brought. */
  readonly windowChars: number;
  /**
   * Characters that each window looks back, and that are held back behind what was checked: what is bad within this many
   * characters is seen whole before its first one goes out.
   */
  readonly overlapChars: number;
  /** Text that has waited this long is checked though its window is not full. */
  readonly waitUs: number;
  /** Most of one answer that is held; more is decided by `onFailure`. */
  readonly heldBytesMax: number;
}

export const GUARD_WINDOW = {
  windowChars: 256,
  overlapChars: 64,
  waitUs: 200_000,
  heldBytesMax: 4 * 1024 * 1024,
} as const;
