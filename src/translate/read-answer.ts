/**
 * Whole answers of the three formats. Readers take the accents that the stream readers take: reasoning under two names,
 * content in parts, arguments as text or object. What they cannot read is no answer, and said so.
 */
import { ManxError } from "../core/index.ts";
import type { StreamFormat } from "../stream/index.ts";
import {
  finishReason,
  isObject,
  type JsonObject,
  mergeChatUsage,
  mergeMessagesUsage,
  mergeResponsesUsage,
  textOf,
  USAGE_UNKNOWN,
} from "../stream/wire-words.ts";
import type { AnswerPart, CanonicalAnswer } from "./canonical-answer.ts";
import { readSeal } from "./seal.ts";

/** @throws MANX_TRANSLATE_ANSWER if it is no answer of that format. */
export function readAnswer(body: unknown, format: StreamFormat): CanonicalAnswer {
  if (!isObject(body)) throw unreadable("it is no JSON object");
  if (isObject(body.error)) throw unreadable("it holds an error");
  switch (format) {
    case "openai-chat":
      return readChat(body);
    case "openai-responses":
      return readResponse(body);
    case "anthropic-messages":
      return readMessage(body);
  }
}

function readChat(body: JsonObject): CanonicalAnswer {
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  if (!isObject(choice) || !isObject(choice.message)) throw unreadable("it has no choice");
  const { message } = choice;
  const parts: AnswerPart[] = [];
  const thought = textOf(message.reasoning_content) || textOf(message.reasoning);
  if (thought !== "") parts.push({ kind: "thinking", text: thought, seal: undefined });
  const { content } = message;
  if (typeof content === "string") pushText(parts, "text", content);
  else for (const part of objectsIn(content)) readChatPart(parts, part);
  pushText(parts, "refusal", textOf(message.refusal));
  for (const [i, call] of objectsIn(message.tool_calls).entries()) {
    parts.push(readCall(call, `call_${textOf(body.id)}_${i}`));
  }
  return {
    ...head(body, body.created),
    parts,
    finish: finishOf(textOf(choice.finish_reason), parts),
    usage: isObject(body.usage) ? mergeChatUsage(USAGE_UNKNOWN, body.usage) : USAGE_UNKNOWN,
    stopSequence: null,
  };
}

function readChatPart(parts: AnswerPart[], part: JsonObject): void {
  if (part.type === "text") pushText(parts, "text", textOf(part.text));
  else if (part.type === "refusal") pushText(parts, "refusal", textOf(part.refusal));
}

function readCall(call: JsonObject, generatedId: string): AnswerPart {
  const named = isObject(call.function) ? call.function : {};
  const { arguments: args } = named;
  const argumentsText = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return {
    kind: "call",
    id: textOf(call.id) || generatedId,
    name: textOf(named.name),
    argumentsText,
  };
}

function readMessage(body: JsonObject): CanonicalAnswer {
  if (!Array.isArray(body.content)) throw unreadable("it has no content");
  const parts: AnswerPart[] = [];
  for (const block of objectsIn(body.content)) readBlock(parts, block);
  return {
    ...head(body, undefined),
    parts,
    finish: finishOf(textOf(body.stop_reason), parts),
    usage: isObject(body.usage) ? mergeMessagesUsage(USAGE_UNKNOWN, body.usage) : USAGE_UNKNOWN,
    stopSequence: textOf(body.stop_sequence) || null,
  };
}

/** Blocks of tools that the provider ran itself are left out: their text is in the answer. */
function readBlock(parts: AnswerPart[], block: JsonObject): void {
  switch (block.type) {
    case "text":
      pushText(parts, "text", textOf(block.text));
      return;
    case "thinking": {
      const own = { owner: "anthropic-messages", kind: "signature" } as const;
      const seal = readSeal(textOf(block.signature), own);
      parts.push({ kind: "thinking", text: textOf(block.thinking), seal });
      return;
    }
    case "redacted_thinking": {
      const own = { owner: "anthropic-messages", kind: "redacted" } as const;
      parts.push({ kind: "thinking", text: "", seal: readSeal(textOf(block.data), own) });
      return;
    }
    case "tool_use": {
      const argumentsText = JSON.stringify(block.input ?? {});
      const { id, name } = block;
      parts.push({ kind: "call", id: textOf(id), name: textOf(name), argumentsText });
      return;
    }
    default:
  }
}

function readResponse(body: JsonObject): CanonicalAnswer {
  if (!Array.isArray(body.output)) throw unreadable("it has no output");
  if (body.status === "failed" || body.status === "cancelled")
    throw unreadable(`it has ${body.status}`);
  const parts: AnswerPart[] = [];
  for (const item of objectsIn(body.output)) readItem(parts, item);
  const details = isObject(body.incomplete_details) ? body.incomplete_details : {};
  const raw =
    body.status === "incomplete" ? textOf(details.reason) || "incomplete" : textOf(body.status);
  return {
    ...head(body, body.created_at),
    parts,
    finish: finishOf(raw, parts),
    usage: isObject(body.usage) ? mergeResponsesUsage(USAGE_UNKNOWN, body.usage) : USAGE_UNKNOWN,
    stopSequence: null,
  };
}

function readItem(parts: AnswerPart[], item: JsonObject): void {
  if (item.type === "message") {
    for (const part of objectsIn(item.content)) {
      if (part.type === "output_text") pushText(parts, "text", textOf(part.text));
      else if (part.type === "refusal") pushText(parts, "refusal", textOf(part.refusal));
    }
  } else if (item.type === "function_call") {
    const { arguments: args, name } = item;
    const id = textOf(item.call_id) || textOf(item.id);
    parts.push({ kind: "call", id, name: textOf(name), argumentsText: textOf(args) });
  } else if (item.type === "reasoning") {
    const texts = objectsIn(item.summary).map((part) => textOf(part.text));
    const own = { owner: "openai-responses", kind: "redacted" } as const;
    const seal = readSeal(textOf(item.encrypted_content), own);
    if (texts.length === 0) texts.push(...objectsIn(item.content).map((part) => textOf(part.text)));
    parts.push({ kind: "thinking", text: texts.join("\n\n"), seal });
  }
}

function pushText(parts: AnswerPart[], kind: "text" | "refusal", text: string): void {
  if (text !== "") parts.push({ kind, text });
}

function head(body: JsonObject, created: unknown) {
  return {
    id: textOf(body.id) || null,
    model: textOf(body.model) || null,
    createdS: typeof created === "number" && Number.isFinite(created) ? Math.trunc(created) : null,
  };
}

function finishOf(raw: string, parts: readonly AnswerPart[]): CanonicalAnswer["finish"] {
  if (raw === "") return null;
  const hasCalls = parts.some((part) => part.kind === "call");
  return { reason: finishReason(raw, hasCalls), raw };
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

export function unreadable(why: string): ManxError {
  return new ManxError("MANX_TRANSLATE_ANSWER", {
    what: `the upstream's answer cannot be translated: ${why}`,
  });
}
