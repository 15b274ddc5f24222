/**
 * The provider's own word for why a prompt missed its cache, predicted from two requests. Anthropic compares model, system,
 * tools and messages in this order, and the first that differs is the reason; OpenAI's order is not published, and taken to be
 * that in which its page lists the reasons. Neither names a byte or a field: `divergenceOf` does.
 */
import type { PromptFacts } from "./prompt-facts.ts";
import type { LayoutPart, PartKind, PromptLayout } from "./prompt-layout.ts";

export type MissReason =
  | "model_changed"
  | "system_changed"
  | "tools_changed"
  | "messages_changed"
  /** Anthropic's for settings such as `thinking` and `tool_choice`, which it does not tell apart. */
  | "unavailable"
  | "prompt_cache_key_changed"
  | "text_format_changed"
  | "reasoning_effort_changed"
  | "verbosity_changed"
  | "context_compacted"
  | "input_changed"
  | "service_tier_changed";

export interface ComparedPrompt {
  readonly facts: PromptFacts;
  readonly layout: PromptLayout;
}

/** @returns null if the later goes on where the earlier ends. Both have to be of one format. */
export function missReason(before: ComparedPrompt, after: ComparedPrompt): MissReason | null {
  return after.facts.format === "anthropic-messages"
    ? anthropicReason(before, after)
    : openAiReason(before, after);
}

function anthropicReason(before: ComparedPrompt, after: ComparedPrompt): MissReason | null {
  if (isOtherModel(before, after) || differs(before, after, "speed")) return "model_changed";
  if (!hasSame(before, after, "system")) return "system_changed";
  if (!hasSame(before, after, "tool")) return "tools_changed";
  if (!goesOn(before, after)) return "messages_changed";
  const others = ["thinking", "output_config", "tool_choice"];
  return others.some((path) => differs(before, after, path)) ? "unavailable" : null;
}

function openAiReason(before: ComparedPrompt, after: ComparedPrompt): MissReason | null {
  const has = (...paths: string[]): boolean => paths.some((path) => differs(before, after, path));
  if (isOtherModel(before, after)) return "model_changed";
  if (has("prompt_cache_key")) return "prompt_cache_key_changed";
  if (!hasSame(before, after, "tool")) return "tools_changed";
  if (has("text.format", "response_format")) return "text_format_changed";
  if (has("reasoning", "reasoning_effort")) return "reasoning_effort_changed";
  if (has("text.verbosity", "verbosity")) return "verbosity_changed";
  if (isCompacted(before, after)) return "context_compacted";
  if (!hasSame(before, after, "system") || !goesOn(before, after)) return "input_changed";
  return has("service_tier") ? "service_tier_changed" : null;
}

function isOtherModel(before: ComparedPrompt, after: ComparedPrompt): boolean {
  return before.facts.model !== after.facts.model;
}

function differs(before: ComparedPrompt, after: ComparedPrompt, path: string): boolean {
  return before.facts.settings.get(path) !== after.facts.settings.get(path);
}

function partsOf({ layout }: ComparedPrompt, kind: PartKind): LayoutPart[] {
  return layout.parts.filter((part) => part.kind === kind);
}

function hasSame(before: ComparedPrompt, after: ComparedPrompt, kind: PartKind): boolean {
  const [old, now] = [partsOf(before, kind), partsOf(after, kind)];
  return old.length === now.length && isBeginning(old, now);
}

function goesOn(before: ComparedPrompt, after: ComparedPrompt): boolean {
  return isBeginning(partsOf(before, "message"), partsOf(after, "message"));
}

function isBeginning(old: readonly LayoutPart[], now: readonly LayoutPart[]): boolean {
  return old.every((part, at) => part.hash === now[at]?.hash && part.chars === now[at]?.chars);
}

/** An item in place of what was said: OpenAI's own way to cut a conversation. */
function isCompacted(before: ComparedPrompt, after: ComparedPrompt): boolean {
  const count = (one: ComparedPrompt): number =>
    partsOf(one, "message").filter(({ text }) => text?.startsWith('{"type":"compaction') === true)
      .length;
  return !goesOn(before, after) && count(after) > count(before);
}
