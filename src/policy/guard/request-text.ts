/** What of a request is checked: all that it says, or what has come since the model spoke last. */
import { textOf } from "./text-leaves.ts";

export type RequestScope = "new" | "all";

interface Item {
  readonly role?: unknown;
  readonly type?: unknown;
}

const BY_THE_MODEL: ReadonlySet<unknown> = new Set([
  "function_call",
  "custom_tool_call",
  "reasoning",
  "web_search_call",
  "file_search_call",
  "computer_call",
  "mcp_call",
]);

/**
 * @param body of a request in any of the APIs; anything at all is borne.
 * @param scope `new`: the caller's messages and tool results since the model's last answer; earlier ones were checked when
 *   they were new, if all of the conversation came this way.
 */
export function requestText(body: unknown, scope: RequestScope): string {
  if (typeof body !== "object" || body === null) return "";
  const { system, instructions, messages, input, prompt } = body as Record<string, unknown>;
  const said = messages ?? input ?? prompt;
  const items: readonly unknown[] = Array.isArray(said) ? said : [said];
  if (scope === "all") return textOf([system, instructions, ...items]);
  return textOf(items.slice(newFrom(items)));
}

/** After the model's last word that has an answer; what the caller puts into its mouth at the end is the caller's. */
function newFrom(items: readonly unknown[]): number {
  let from = items.length;
  while (from > 0 && isByModel(items[from - 1])) from -= 1;
  while (from > 0 && !isByModel(items[from - 1])) from -= 1;
  return from;
}

function isByModel(item: unknown): boolean {
  if (typeof item !== "object" || item === null) return false;
  const { role, type } = item as Item;
  return role === "assistant" || BY_THE_MODEL.has(type);
}
