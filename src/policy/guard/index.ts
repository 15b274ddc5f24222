/** What of a call is checked when, and what of its answer may go out. */
export { eventPiece } from "./event-piece.ts";
export type { GuardDecision, GuardRefusal, GuardResult } from "./guard-decision.ts";
export {
  GuardMachine,
  type GuardPath,
  type GuardPiece,
  type GuardTax,
} from "./guard-machine.ts";
export {
  GUARD_WINDOW,
  type GuardPolicy,
  type GuardRule,
  type GuardStage,
  type Verdict,
} from "./guard-policy.ts";
export { isSurelyCheap } from "./pattern-cost.ts";
export { type RequestScope, requestText } from "./request-text.ts";
export { argumentsText, textOf } from "./text-leaves.ts";
export { JUDGE_FORM, readJudgement, readVerdict } from "./verdict-forms.ts";
