/** Which conversation a request belongs to, so that it is compared with its own last request and no other. */
import type { IncomingHttpHeaders } from "node:http";
import { textHash } from "../../policy/index.ts";

const HEADER = "x-manx-conversation";
const KEY_CHARS_MAX = 200;

type Json = Readonly<Record<string, unknown>>;

/**
 * @returns what the caller calls it (header or `prompt_cache_key`), else a name made of its first message: an agent sends
 *   that with each step. Never the same for two tenants or models.
 */
export function conversationKey(
  { tenant, model, headers }: { tenant: string; model: string; headers: IncomingHttpHeaders },
  body: Json,
): string {
  const named = headers[HEADER] ?? body.prompt_cache_key;
  const own = typeof named === "string" ? named.slice(0, KEY_CHARS_MAX) : firstMessage(body);
  return JSON.stringify([tenant, model, own]);
}

function firstMessage({ messages, input, prompt }: Json): number {
  const said = messages ?? input ?? prompt;
  const items: readonly unknown[] = Array.isArray(said) ? said : [said];
  const first = items.find((item) => !isSystem(item));
  return textHash(JSON.stringify(first) ?? "");
}

function isSystem(item: unknown): boolean {
  const role = typeof item === "object" && item !== null ? (item as { role?: unknown }).role : "";
  return role === "system" || role === "developer";
}
