/** Prompts laid out for the provider's cache: compiled, linted, primed and kept. */
export {
  type CompiledPrompt,
  type CompileOptions,
  compilePrompt,
  type PlacedMark,
} from "./compile-prompt.ts";
export * from "./lint/index.ts";
export type { PromptFinding } from "./prompt-finding.ts";
export type {
  PromptDocument,
  PromptMessage,
  PromptPart,
  PromptTool,
  Stability,
} from "./prompt-part.ts";
export {
  type SimulatedAnswer,
  type SimulatedCacheOptions,
  SimulatedPromptCache,
  type SimulatedUsage,
} from "./simulated-prompt-cache.ts";
