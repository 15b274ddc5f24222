/**
 * For a conversation that changes its provider, as fail-over does: reasoning of the one that was there before is refused by
 * the next, even if the caller and both of them speak one format and nothing needs translation.
 */
import type { StreamFormat } from "../stream/index.ts";
import { isObject, textOf } from "../stream/wire-words.ts";
import { readSeal } from "./seal.ts";

export interface OwnReasoning {
  /** The same object if there was nothing to leave out. */
  readonly body: unknown;
  /** How many blocks or items were left out. */
  readonly dropped: number;
}

/**
 * @param body a request in the format of the upstream that it goes to, parsed; not changed.
 * @returns it without reasoning that came from another format's upstream: sealed by another provider, or by none.
 */
export function keepOwnReasoning(body: unknown, format: StreamFormat): OwnReasoning {
  if (!isObject(body)) return { body, dropped: 0 };
  if (format === "anthropic-messages") return keepInMessages(body);
  if (format === "openai-responses") return keepIn(body, "input", isForeignItem);
  return { body, dropped: 0 };
}

function keepInMessages(body: Readonly<Record<string, unknown>>): OwnReasoning {
  if (!Array.isArray(body.messages)) return { body, dropped: 0 };
  let dropped = 0;
  const messages = body.messages.flatMap((message: unknown) => {
    if (!isObject(message)) return [message];
    const own = keepIn(message, "content", isForeignBlock);
    dropped += own.dropped;
    // A message without content would be refused as well.
    const { content } = own.body as { readonly content?: unknown };
    const isEmpty = own.dropped > 0 && Array.isArray(content) && content.length === 0;
    return isEmpty ? [] : [own.body];
  });
  return dropped === 0 ? { body, dropped } : { body: { ...body, messages }, dropped };
}

function keepIn(
  holder: Readonly<Record<string, unknown>>,
  name: string,
  isForeign: (part: unknown) => boolean,
): OwnReasoning {
  const list = holder[name];
  if (!Array.isArray(list)) return { body: holder, dropped: 0 };
  const kept = list.filter((part) => !isForeign(part));
  const dropped = list.length - kept.length;
  return dropped === 0 ? { body: holder, dropped } : { body: { ...holder, [name]: kept }, dropped };
}

function isForeignBlock(block: unknown): boolean {
  if (!isObject(block) || block.type !== "thinking") return false;
  const own = { owner: "anthropic-messages", kind: "signature" } as const;
  return readSeal(textOf(block.signature), own)?.owner !== own.owner;
}

/** An item without a seal is not foreign: the provider may have it under its id. */
function isForeignItem(item: unknown): boolean {
  if (!isObject(item) || item.type !== "reasoning") return false;
  const own = { owner: "openai-responses", kind: "redacted" } as const;
  const seal = readSeal(textOf(item.encrypted_content), own);
  return seal !== undefined && seal.owner !== own.owner;
}
