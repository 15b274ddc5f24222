/** One deadline for all of a turn. */

/** Branches that run beside each other and come back together. */
export { type StragglerOptions, StragglerPolicy } from "../policy/index.ts";
export {
  adviseFanOut,
  type FanOutAdvice,
  type FanOutAdviceOptions,
} from "./advise-fan-out.ts";
export { type ChildOptions, DEADLINE_HEADER, Deadline } from "./deadline.ts";
/** A turn, and its messages. */
export type { AdmissibleCall, Admission, CallEvent } from "./dispatcher.ts";
/** Tools, and what their effects allow. */
export { EFFECT_RULES, type Effect, type EffectRule } from "./effect.ts";
export {
  type BranchCode,
  type FanOutBranch,
  type FanOutOptions,
  type FanOutResult,
  fanOut,
} from "./fan-out.ts";
export type { JsonSchema, StandardSchema, ToolInput } from "./input-check.ts";
/** Calls and tasks that need each other. */
export type { PlanStep } from "./plan.ts";
export type { ResultStatus } from "./result-text.ts";
export {
  type GraphOptions,
  type GraphOutcome,
  type GraphTask,
  runGraph,
  type TaskOutcome,
} from "./run-graph.ts";
export { type SlotLimits, Slots } from "./slots.ts";
export { Step } from "./step.ts";
export type { StreamVerdict } from "./stream-verdict.ts";
export type { TimeSpan } from "./time-span.ts";
export { type Tool, type ToolContext, type ToolDefinition, tool, type UndoneRun } from "./tool.ts";
export { ToolBox } from "./tool-box.ts";
export { type CallTimes, resultMessages, type ToolResult } from "./tool-result.ts";
export { Turn, type TurnOptions } from "./turn.ts";
export type { TurnCounts } from "./turn-counts.ts";
