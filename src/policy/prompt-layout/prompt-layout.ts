/**
 * A request's prompt as the parts that providers cache by, in the order in which they render it: what decides all of it
 * (model, thinking), tools, system, messages. Bodies of chat completions, messages and responses are told apart by what
 * they have. Marks of the cache itself are no part of the prompt.
 */
import { sortedJson } from "./sorted-json.ts";
import { textHash } from "./text-hash.ts";

export type PartKind = "setting" | "tool" | "system" | "message";

export interface LayoutPart {
  /** Where it stands in the body, such as `messages[2].content[0]`. */
  readonly path: string;
  readonly kind: PartKind;
  /** Of a tool its name, of a tool's result the call's id; "" for all others. */
  readonly name: string;
  readonly chars: number;
  /** Of the text. */
  readonly hash: number;
  /** Of the same value whatever the order of its keys. */
  readonly sortedHash: number;
  /** A text as it is, anything else as JSON; null if it was not kept. */
  readonly text: string | null;
}

export interface PromptLayout {
  readonly parts: readonly LayoutPart[];
}

type Json = Readonly<Record<string, unknown>>;

/** More blocks than any conversation that fits into a model. */
const PARTS_MAX = 20_000;
/** A change of one of them is another prompt, for every provider. */
const SETTINGS = ["model", "thinking", "reasoning", "reasoning_effort", "output_config"];
/** About; right for English. */
const CHARS_PER_TOKEN = 4;

export function tokensOf(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** @param body of a request, parsed; anything at all is borne. */
export function layoutOf(body: unknown): PromptLayout {
  const builder = new LayoutBuilder();
  if (isObject(body)) {
    for (const name of SETTINGS)
      if (body[name] !== undefined) builder.add("setting", name, body[name]);
    for (const [i, tool] of listOf(body.tools).entries()) {
      builder.add("tool", `tools[${i}]`, tool, toolName(tool));
    }
    builder.addBlocks("system", "system", body.system);
    builder.addBlocks("system", "instructions", body.instructions);
    const name = body.messages === undefined ? "input" : "messages";
    const said = body[name];
    if (typeof said === "string") builder.add("message", name, said);
    else builder.addMessages(name, listOf(said));
  }
  return { parts: builder.parts };
}

class LayoutBuilder {
  readonly parts: LayoutPart[] = [];
  /** Messages of the system stand first or are messages like others. */
  #hasConversation = false;

  add(kind: PartKind, path: string, value: unknown, name = ""): void {
    if (this.parts.length >= PARTS_MAX) return;
    const bare = withoutMark(value);
    const text = typeof bare === "string" ? bare : (JSON.stringify(bare) ?? "");
    const sortedHash = typeof bare === "string" ? textHash(text) : textHash(sortedJson(bare));
    this.parts.push({
      path,
      kind,
      name,
      chars: text.length,
      hash: textHash(text),
      sortedHash,
      text,
    });
  }

  /** A text, or a list of blocks; those of text count by their text alone, so that both forms are one. */
  addBlocks(kind: PartKind, path: string, content: unknown): void {
    if (content === undefined || content === null) return;
    if (!Array.isArray(content)) {
      this.add(kind, path, content);
      return;
    }
    for (const [i, block] of content.entries()) {
      this.add(kind, `${path}[${i}]`, textIn(block), resultOf(block));
    }
  }

  addMessages(field: string, messages: readonly unknown[]): void {
    for (const [i, message] of messages.entries()) {
      const path = `${field}[${i}]`;
      const role = isObject(message) ? message.role : undefined;
      const isSystem = (role === "system" || role === "developer") && !this.#hasConversation;
      if (!isSystem) this.#hasConversation = true;
      this.#addMessage(isSystem ? "system" : "message", path, message);
    }
  }

  #addMessage(kind: PartKind, path: string, message: unknown): void {
    if (!isObject(message)) {
      this.add(kind, path, message);
      return;
    }
    const { content, ...rest } = message;
    const isPlain = Object.keys(rest).every((key) => key === "role" || key === "type");
    // Calls and their results stand beside the content, and are the prompt as well.
    if (!isPlain) this.add(kind, path, rest, resultOf(message));
    if (content !== undefined && content !== null) this.addBlocks(kind, `${path}.content`, content);
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function toolName(tool: unknown): string {
  if (!isObject(tool)) return "";
  const own = isObject(tool.function) ? tool.function.name : tool.name;
  return typeof own === "string" ? own : String(tool.type ?? "");
}

/** @returns the id of the call that a block or message is the result of. */
export function resultOf(value: unknown): string {
  if (!isObject(value)) return "";
  const id = value.tool_use_id ?? value.tool_call_id ?? value.call_id;
  const isResult = value.type !== "function_call" && value.type !== "custom_tool_call";
  return isResult && typeof id === "string" ? id : "";
}

function textIn(block: unknown): unknown {
  if (!isObject(block) || block.type !== "text" || typeof block.text !== "string") return block;
  return Object.keys(withoutMark(block) as Json).length === 2 ? block.text : block;
}

function withoutMark(value: unknown): unknown {
  if (!isObject(value) || !("cache_control" in value)) return value;
  const { cache_control: _, ...bare } = value;
  return bare;
}
