/**
 * A body as a provider's cache sees it: blocks in render order, with their marks. Made from the body alone and not from the
 * layout that linter and compiler go by, so that the simulated cache can prove them wrong.
 */

type Json = Readonly<Record<string, unknown>>;

export interface PromptBlock {
  readonly level: "tools" | "system" | "messages";
  /** What is rendered. */
  readonly text: string;
  /** Lifetime of the mark at its end; null if it has none. */
  readonly ttl: string | null;
}

export function anthropicBlocks(body: Json): PromptBlock[] {
  const blocks: PromptBlock[] = [];
  for (const tool of listOf(body.tools)) blocks.push(blockOf("tools", tool, ""));
  blocks.push(...contentBlocks("system", body.system, ""));
  for (const message of listOf(body.messages)) {
    const { role, content } = message as Json;
    blocks.push(...contentBlocks("messages", content, String(role)));
  }
  const ttl = ttlOf(body);
  const last = blocks.at(-1);
  // One mark at the top of the request stands on its last block.
  if (ttl !== null && last !== undefined && last.ttl === null) {
    blocks[blocks.length - 1] = { ...last, ttl };
  }
  return blocks;
}

/** Of chat completions and responses; they are cached without marks. */
export function openAiBlocks(body: Json): PromptBlock[] {
  const of = (level: PromptBlock["level"], value: unknown): PromptBlock => {
    return { level, text: JSON.stringify(value) ?? "", ttl: null };
  };
  const said = body.messages ?? body.input;
  return [
    ...listOf(body.tools).map((tool) => of("tools", tool)),
    ...(body.instructions === undefined ? [] : [of("system", body.instructions)]),
    ...(typeof said === "string" ? [said] : listOf(said)).map((item) => of("messages", item)),
  ];
}

function contentBlocks(
  level: "system" | "messages",
  content: unknown,
  role: string,
): PromptBlock[] {
  if (typeof content === "string") return [{ level, text: role + content, ttl: null }];
  return listOf(content).map((block) => blockOf(level, block, role));
}

function blockOf(level: PromptBlock["level"], value: unknown, role: string): PromptBlock {
  const { cache_control: _, ...bare } = value as Json;
  const { type, text } = bare;
  const isText = type === "text" && typeof text === "string" && Object.keys(bare).length === 2;
  return { level, text: role + (isText ? text : JSON.stringify(bare)), ttl: ttlOf(value as Json) };
}

function ttlOf({ cache_control: control }: Json): string | null {
  if (typeof control !== "object" || control === null) return null;
  const { ttl } = control as Json;
  return typeof ttl === "string" ? ttl : "5m";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
