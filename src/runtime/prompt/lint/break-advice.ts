/** What to do about each cause: one sentence, an order. */
import type { MissCause } from "../../../policy/index.ts";

export type BreakCause = MissCause | "cache_key_changed";

export const BREAK_ADVICE: Readonly<Record<BreakCause, string>> = {
  time_stamp: "move the time into the last message of the user, or to the end of the system text",
  random_id: "move the id out of the prompt, or into the last message of the user",
  tools_reordered: "send tools in one order: compilePrompt, or the gateway's cacheMarks.order",
  key_order: "write keys in one order: compilePrompt, or the gateway's cacheMarks.order",
  results_reordered: "give results back in the order of their calls",
  tools_added: "send all tools from the start and restrict them by tool_choice",
  tools_removed: "send all tools to the end and restrict them by tool_choice",
  tool_changed: "keep what varies out of a tool's description and schema",
  system_changed: "put what varies by user or step behind what does not",
  history_changed: "never rewrite what was sent; add to it",
  history_cut: "cut seldom and much at a time, so that the rest is read often",
  model_changed: "stay with one model in a conversation; each has a cache of its own",
  settings_changed: "decide thinking, format and tool_choice once for a conversation",
  cache_key_changed: "keep prompt_cache_key for as long as the prefix is the same",
};
