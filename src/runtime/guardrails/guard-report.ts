/** What the guard of one call has seen and cost. */
import { ManxError } from "../../core/index.ts";
import type {
  GuardPath,
  GuardRefusal,
  GuardStage,
  GuardTax,
  Verdict,
} from "../../policy/guard/index.ts";
import type { RailParts } from "./rail.ts";

/** One check that has answered, or whose budget was spent. */
export interface GuardCheck {
  readonly rail: string;
  readonly stage: GuardStage;
  readonly verdict: Verdict;
  readonly tookUs: number;
  readonly parts: RailParts;
}

/**
 * How a call went: `clean`, `flagged` (in doubt, and let go), `refused`, `failed` (refused for want of a verdict),
 * `reformulated` (refused, asked again in other words, and let go), `cut` (called off, or out of time).
 */
export type CallPath = GuardPath | "reformulated" | "cut";

export interface GuardReport {
  readonly path: CallPath;
  /** Of the last round; null if nothing was refused. */
  readonly refusal: GuardRefusal | null;
  /** Answers that were asked for: 1, or 2 with a reformulation. */
  readonly rounds: number;
  /** Oldest first, up to a bound. */
  readonly checks: readonly GuardCheck[];
  readonly checksLeftOut: number;
  /**
   * From the first of the answer to the first that was released, in µs: what is added to TTFVT. Null if nothing was. This
   * and the next are the last round's.
   */
  readonly firstHeldUs: number | null;
  /** From the end of the answer to the last release: what is added to the end. Null if it did not get there. */
  readonly lastHeldUs: number | null;
  /** From the start of the call to the refusal that a reformulation followed; 0 without one. */
  readonly refusedUs: number;
}

/** Most checks that a report keeps. */
export const CHECKS_KEPT_MAX = 256;

/** @returns the report of a call of one round. */
export function reportOf(
  { path, firstHeldUs, lastHeldUs }: Omit<GuardTax, "path"> & { readonly path: CallPath },
  refusal: GuardRefusal | null,
  checks: { readonly kept: readonly GuardCheck[]; readonly leftOut: number },
): GuardReport {
  return {
    path,
    refusal,
    rounds: 1,
    checks: checks.kept,
    checksLeftOut: checks.leftOut,
    firstHeldUs,
    lastHeldUs,
    refusedUs: 0,
  };
}

/** The refusal as an error: it names the rail and carries what every check has said, never what it has seen. */
export function refusalError({ refusal, checks }: GuardReport): ManxError {
  const { stage, rule, why } = refusal!;
  const whose = rule === null ? "" : ` by rail ${JSON.stringify(rule)}`;
  const details = {
    stage,
    rail: rule,
    why,
    checks: checks.map(({ rail, stage: of, verdict, tookUs }) => {
      return { rail, stage: of, verdict, ms: tookUs / 1_000 };
    }),
  };
  const whole = stage === "request" ? "the request" : "the answer";
  if (why === "flag") {
    return new ManxError("MANX_GUARD_REFUSED", { what: `${whole} is refused${whose}`, details });
  }
  const what =
    rule === null ? `${whole} cannot be checked` : `${whole} was not checked in time${whose}`;
  return new ManxError("MANX_GUARD_FAILED", { what, details });
}
