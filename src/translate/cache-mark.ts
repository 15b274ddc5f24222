/**
 * Marks up to which a provider is to keep the prompt. Anthropic has `cache_control`, which clients of gateways also put
 * into OpenAI's format; OpenAI has `prompt_cache_breakpoint`.
 */
import type { CacheMark } from "./canonical-request.ts";
import { type Fields, malformed } from "./fields.ts";

/** Most that Anthropic takes; the latest ones reach furthest. */
export const CACHE_MARKS_MAX = 4;

export function readCacheMark(fields: Fields): CacheMark | null {
  const control = fields.object("cache_control");
  const breakpoint = fields.raw("prompt_cache_breakpoint");
  if (control === undefined) return breakpoint === undefined ? null : { ttl: null };
  control.ignore("type");
  const ttl = control.text("ttl") ?? null;
  if (ttl === null || ttl === "5m" || ttl === "1h") return { ttl };
  throw malformed(control.at("ttl"), "5m or 1h", ttl);
}

/** For formats that find the cache themselves. */
export function dropCacheMark(
  mark: CacheMark | null,
  where: string,
  fields: Pick<Fields, "notes">,
): void {
  if (mark === null) return;
  fields.notes.dropped(`${where}.cache_control`, "the other provider caches by itself");
}

export function writeCacheMark(mark: CacheMark): object {
  return { type: "ephemeral", ...(mark.ttl !== null && { ttl: mark.ttl }) };
}
