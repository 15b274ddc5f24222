/** What of a call is checked when, and what of its answer may go out. */
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
