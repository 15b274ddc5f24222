/** A refusal as the caller's error: which guardrail, and what each check has said; never what it has seen. */
import { ManxError } from "../../core/index.ts";
import type { GuardRefusal, GuardResult } from "../../policy/index.ts";
import type { EarlyEnd } from "../early-end.ts";

export function guardError({ stage, rule, why }: GuardRefusal): ManxError {
  const whose = rule === null ? "" : ` by guardrail ${JSON.stringify(rule)}`;
  if (why === "flag") {
    const what = stage === "request" ? "the request is refused" : "the answer is refused";
    return new ManxError("MANX_GUARD_REFUSED", { what: what + whose });
  }
  const what =
    rule === null
      ? `the ${stage === "request" ? "request" : "answer"} cannot be checked`
      : `the ${stage} was not checked in time${whose}`;
  return new ManxError("MANX_GUARD_FAILED", { what });
}

/** @returns the error with a line per check. */
export function withChecks(end: EarlyEnd, results: readonly GuardResult[]): EarlyEnd {
  const guardrails = results.map(({ rule, stage, verdict, tookUs }) => {
    return { name: rule, stage, verdict, ms: tookUs / 1_000 };
  });
  return { ...end, body: { ...end.body, error: { ...(end.body.error as object), guardrails } } };
}
