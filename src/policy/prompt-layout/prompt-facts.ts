/**
 * What of a request decides about the cache beside its prompt: which provider it is for, and the settings that make another
 * cache of the same text. They are names and hashes: nothing here can be read back.
 */
import type { CacheFormat } from "./provider-cache-rules.ts";
import { sortedJson } from "./sorted-json.ts";
import { textHash } from "./text-hash.ts";

type Json = Readonly<Record<string, unknown>>;

export interface PromptFacts {
  readonly format: CacheFormat;
  readonly model: string;
  /** Hash of each setting that was given, by its path. */
  readonly settings: ReadonlyMap<string, number>;
}

const SETTING_PATHS: readonly string[] = [
  "speed",
  "service_tier",
  "prompt_cache_key",
  "tool_choice",
  "thinking",
  "reasoning",
  "reasoning_effort",
  "output_config",
  "text.format",
  "response_format",
  "text.verbosity",
  "verbosity",
];

/** @returns null for what is no request of a known format. */
export function promptFacts(body: unknown): PromptFacts | null {
  if (!isObject(body)) return null;
  const format = formatOf(body);
  if (format === null) return null;
  const settings = new Map<string, number>();
  for (const path of SETTING_PATHS) {
    const value = at(body, path);
    if (value !== undefined) settings.set(path, textHash(sortedJson(value)));
  }
  return { format, model: typeof body.model === "string" ? body.model : "", settings };
}

function formatOf(body: Json): CacheFormat | null {
  if (body.messages === undefined) {
    return body.input === undefined ? null : "openai-responses";
  }
  return isAnthropic(body) ? "anthropic-messages" : "openai-chat";
}

/** The two have most fields in common; each of these is the one provider's alone. */
function isAnthropic(body: Json): boolean {
  if (body.system !== undefined || body.anthropic_version !== undefined) return true;
  if (typeof body.model === "string" && /claude/i.test(body.model)) {
    // Routers take Claude's name in OpenAI's format.
    return !isOpenAi(body);
  }
  const tools = Array.isArray(body.tools) ? (body.tools as unknown[]) : [];
  return tools.some((tool) => isObject(tool) && tool.input_schema !== undefined);
}

function isOpenAi(body: Json): boolean {
  const tools = Array.isArray(body.tools) ? (body.tools as unknown[]) : [];
  if (tools.some((tool) => isObject(tool) && isObject(tool.function))) return true;
  const messages = Array.isArray(body.messages) ? (body.messages as unknown[]) : [];
  return messages.some(
    (message) => isObject(message) && /^(?:system|developer|tool)$/.test(String(message.role)),
  );
}

function at(body: Json, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
