/**
 * What routing has to know of a prompt: the names of its blocks and about how many tokens it has. The parts are taken in the
 * order in which chat templates put them before the model (tools, system, messages), whatever the order of the body's
 * keys, so that two bodies that make one prompt have one name.
 */
import { PromptBlocks } from "../../policy/index.ts";

export interface PromptShape {
  readonly prefixIds: readonly number[];
  /** Of the prompt: a quarter of its characters. Right for English to a fifth or so, too low for code and Chinese. */
  readonly tokens: number;
}

/** By format: chat completions, messages, responses, completions. */
const PARTS = [
  "tools",
  "functions",
  "system",
  "instructions",
  "messages",
  "input",
  "prompt",
] as const;
const CHARS_PER_TOKEN = 4;
/** A picture costs a model a thousand tokens or so, not the length of its base64; its end tells it from others. */
const PICTURE_CHARS = 4_096;
/** Deeper than any real message; a hostile body ends here and not in a full stack. */
const DEPTH_MAX = 32;

/** @param body of a request, parsed. Anything at all is borne. */
export function promptShape(body: unknown, blocksMax?: number): PromptShape {
  const blocks = new PromptBlocks(blocksMax);
  if (typeof body === "object" && body !== null) {
    for (const part of PARTS) take((body as Record<string, unknown>)[part], part, blocks, 0);
  }
  return { prefixIds: blocks.names, tokens: Math.ceil(blocks.chars / CHARS_PER_TOKEN) };
}

function take(value: unknown, key: string, blocks: PromptBlocks, depth: number): void {
  if (typeof value === "string") {
    const isPicture = key === "data" || value.startsWith("data:");
    blocks.add(isPicture ? value.slice(-PICTURE_CHARS) : value);
    return;
  }
  // A prompt may be given as token ids.
  if (typeof value === "number" || typeof value === "boolean") blocks.add(String(value));
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return;
  if (Array.isArray(value)) {
    for (const item of value) take(item, key, blocks, depth + 1);
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    // Where a provider is to keep its cache changes nothing of what the model sees.
    if (name === "cache_control") continue;
    blocks.add(name);
    take(field, name, blocks, depth + 1);
  }
}
