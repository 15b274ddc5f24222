/** Checks of what is asked and answered, beside the generation, in the agent's process. */
export type { CallPath, GuardCheck, GuardReport } from "./guard-report.ts";
export {
  type AskRound,
  GuardedAnswer,
  type GuardedAnswerOptions,
  guardedAnswer,
} from "./guarded-answer.ts";
export { GuardedStep, type GuardedStepOptions } from "./guarded-step.ts";
export { type HttpRailOptions, httpRail } from "./http-rail.ts";
export { type JudgeQuestion, type ModelRailOptions, modelRail } from "./model-rail.ts";
export type { ModelSource, SourceItem } from "./model-source.ts";
export { type PatternRailOptions, patternRail } from "./pattern-rail.ts";
export {
  type Rail,
  type RailAnswer,
  type RailCheck,
  type RailContext,
  type RailOptions,
  type RailParts,
  rail,
} from "./rail.ts";
export { type RailCounts, Rails, type RailsOptions } from "./rails.ts";
export {
  type BudgetReview,
  type PathTax,
  type RailTax,
  TaxReport,
  type TaxReportJson,
  taxReport,
} from "./tax-report.ts";
