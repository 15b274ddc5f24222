/** Marks put into a body of Anthropic's messages, each on the last block that may carry one. */
import { type LifetimeName, MARKABLE } from "../../policy/index.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * @param path of a tool, a block of the system or a message.
 * @returns the body with the mark; null if nothing there can carry one.
 */
export function withMark(body: Json, path: string, lifetime: LifetimeName): Json | null {
  const [, field, index] = /^(\w+)\[(\d+)\]$/.exec(path)!;
  const list = [...(body[field!] as readonly Json[])];
  const at = Number(index);
  const value = list[at]!;
  const made = field === "messages" ? markedMessage(value, lifetime) : marked(value, lifetime);
  if (made === null) return null;
  list[at] = made;
  return { ...body, [field!]: list };
}

function marked(value: Json, lifetime: LifetimeName): Json {
  // Five minutes is what it means without a word, and older endpoints know no other.
  const ttl = lifetime === "5m" ? {} : { ttl: lifetime };
  return { ...value, cache_control: { type: "ephemeral", ...ttl } };
}

function markedMessage(message: Json, lifetime: LifetimeName): Json | null {
  const { content } = message;
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : ((content ?? []) as Json[]);
  if (!Array.isArray(blocks)) return null;
  const at = blocks.findLastIndex(isMarkable);
  if (at < 0) return null;
  const copy = [...blocks];
  copy[at] = marked(blocks[at]!, lifetime);
  return { ...message, content: copy };
}

function isMarkable({ type, text }: Json): boolean {
  if (!MARKABLE.has(type)) return false;
  return type !== "text" || (typeof text === "string" && text.trim() !== "");
}
