/**
 * What a provider with eyes for its own cache says of two requests: Anthropic compares model, system, tools and messages, OpenAI
 * a list of fields, and the first difference is the reason. Written from their pages over bodies as they are sent.
 */

type Json = Readonly<Record<string, unknown>>;

export function anthropicMiss(before: Json, after: Json): string | null {
  if (isOther(before.model, after.model) || isOther(before.speed, after.speed)) {
    return "model_changed";
  }
  if (isOther(plainText(before.system), plainText(after.system))) return "system_changed";
  if (isOther(withoutMarks(before.tools ?? []), withoutMarks(after.tools ?? []))) {
    return "tools_changed";
  }
  if (!isContinued(before.messages, after.messages)) return "messages_changed";
  const others = ["thinking", "tool_choice", "output_config"];
  return others.some((name) => isOther(before[name], after[name])) ? "unavailable" : null;
}

export function openAiMiss(before: Json, after: Json): string | null {
  const form = ({ text }: Json): Json => (text ?? {}) as Json;
  if (isOther(before.model, after.model)) return "model_changed";
  if (isOther(before.prompt_cache_key, after.prompt_cache_key)) return "prompt_cache_key_changed";
  if (isOther(before.tools ?? [], after.tools ?? [])) return "tools_changed";
  if (isOther(form(before).format, form(after).format)) return "text_format_changed";
  if (isOther(before.reasoning, after.reasoning)) return "reasoning_effort_changed";
  if (isOther(form(before).verbosity, form(after).verbosity)) return "verbosity_changed";
  const isSame = isContinued(before.input, after.input);
  if (!isSame && compactions(after) > compactions(before)) return "context_compacted";
  if (!isSame || isOther(before.instructions, after.instructions)) return "input_changed";
  return isOther(before.service_tier, after.service_tier) ? "service_tier_changed" : null;
}

function isOther(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}

/** All that was said is still there, and only what is behind it is new. */
function isContinued(before: unknown, after: unknown): boolean {
  const [old, now] = [entriesOf(before), entriesOf(after)];
  return old.length <= now.length && old.every((entry, at) => entry === now[at]);
}

/** Each block or message as it is rendered, whether its text was given by itself or as a block. */
function entriesOf(said: unknown): string[] {
  const messages = Array.isArray(said) ? (said as Json[]) : [{ role: "user", content: said }];
  return messages.flatMap(({ role, content, ...rest }) => {
    const blocks = Array.isArray(content)
      ? content
      : typeof content === "string"
        ? [{ type: "text", text: content }]
        : [];
    return [
      ...blocks.map((block) => JSON.stringify([role, withoutMarks(block)])),
      ...(Object.keys(rest).length > 0 ? [JSON.stringify(rest)] : []),
    ];
  });
}

function plainText(system: unknown): unknown {
  if (system === undefined) return [];
  return typeof system === "string" ? [{ type: "text", text: system }] : withoutMarks(system);
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const { cache_control: _, ...bare } = value as Json;
  return bare;
}

function compactions({ input }: Json): number {
  const items = Array.isArray(input) ? (input as Json[]) : [];
  return items.filter(({ type }) => type === "compaction").length;
}
