/** Prompts laid out for the provider's cache: compiled, linted, primed and kept. */
export {
  CacheKeeper,
  type CacheKeeperOptions,
  type KeptPrefixReport,
  type KeptState,
  type WarmUpCall,
  type WarmUpUsage,
} from "./cache-keeper.ts";
export {
  type CompiledPrompt,
  type CompileOptions,
  compilePrompt,
  type PlacedMark,
} from "./compile-prompt.ts";
export { type KeepAliveFacts, type KeepAliveWorth, keepAliveWorth } from "./keep-alive-worth.ts";
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
