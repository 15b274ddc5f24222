/** What broke a prefix: recorded requests compared, byte by byte. */
export { BREAK_ADVICE, type BreakCause } from "./break-advice.ts";
export type { BreakGroup, LintSummary, PriceOption } from "./lint-totals.ts";
export type { MarkProblem, MarkProblemKind } from "./mark-problem.ts";
export type { PrefillFigure } from "./prefill-rate.ts";
export type { PromptBreak } from "./prompt-break.ts";
export {
  type Linted,
  type LintOptions,
  type PlacedBreak,
  PromptLinter,
  type RecordSource,
} from "./prompt-linter.ts";
export type { ShelfLimits } from "./prompt-shelf.ts";
export { type RecordedRequest, type RecordedUsage, recordedRequests } from "./recorded-request.ts";
