/** What is asked before a call runs, and told while it does. */
export type { AdmissibleCall, Admission, CallEvent } from "./call-event.ts";
/** One deadline for all of a turn. */
export { type ChildOptions, DEADLINE_HEADER, Deadline } from "./deadline.ts";
/** What the effect of a tool allows. */
export { EFFECT_RULES, type Effect, type EffectRule } from "./effect.ts";
export * from "./fan-out/index.ts";
export * from "./guardrails/index.ts";
/** Arguments: by zod or another Standard Schema, by JSON Schema, by a function. */
export type { JsonSchema, StandardSchema, ToolInput } from "./input-check.ts";
export * from "./model-fetch/index.ts";
/** Calls and tasks that need each other. */
export type { PlanStep } from "./plan.ts";
/** Smooth text; likely calls that begin while the model thinks; prompts laid out for the provider's cache. */
export * from "./playout/index.ts";
export * from "./prefetch/index.ts";
export * from "./prompt/index.ts";
export type { ResultStatus } from "./result-text.ts";
export {
  type GraphOptions,
  type GraphOutcome,
  type GraphTask,
  runGraph,
  type TaskOutcome,
} from "./run-graph.ts";
/** Bounds on what runs at once; one message of the model, and what its end means. */
export { type SlotLimits, Slots } from "./slots.ts";
export { Step, type StepOptions } from "./step.ts";
export type { StreamVerdict } from "./stream-verdict.ts";
export type { TimeSpan } from "./time-span.ts";
/** Tools, and their results. */
export { type Tool, type ToolContext, type ToolDefinition, tool, type UndoneRun } from "./tool.ts";
export { ToolBox, type ToolBoxOptions, type ValidatorFallback } from "./tool-box.ts";
export { toolDeclarations } from "./tool-declarations.ts";
export { type CallTimes, resultMessages, type ToolResult } from "./tool-result.ts";
/** From the user's input to the answer. */
export { Turn, type TurnOptions } from "./turn.ts";
export type { TurnCounts } from "./turn-counts.ts";
/** Start-up work, proved before the first call. */
export * from "./warm-up/index.ts";
