/** What is used of LangChain's messages: their shape, so that Manx needs no version of it. */
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";

export interface LangChainCall {
  readonly id?: string | undefined;
  readonly name: string;
  readonly args: unknown;
}

function messageType(message: unknown): string {
  if (!isObject(message)) return "";
  const { getType } = message;
  if (typeof getType === "function") return String(getType.call(message));
  return textOf(message.type) || textOf(message.role);
}

/** @returns calls of the newest message of the model that have no result yet, and why that message ended. */
export function openCalls(messages: readonly unknown[]): {
  readonly calls: readonly LangChainCall[];
  readonly reason: string | undefined;
} {
  const at = messages.findLastIndex((one) => /^(ai|assistant)$/.test(messageType(one)));
  const message = messages[at] as JsonObject | undefined;
  const answered = new Set(
    messages.slice(at + 1).map((one) => (isObject(one) ? one.tool_call_id : undefined)),
  );
  const calls = Array.isArray(message?.tool_calls) ? message.tool_calls.filter(isCall) : [];
  return {
    calls: calls.filter(({ id }) => id === undefined || !answered.has(id)),
    reason: finishOf(message),
  };
}

/** In the words of its provider; undefined where the integration does not tell it. */
export function finishOf(message: unknown): string | undefined {
  const meta = isObject(message) ? message.response_metadata : undefined;
  if (!isObject(meta)) return undefined;
  const word = textOf(meta.finish_reason) || textOf(meta.stop_reason) || textOf(meta.finishReason);
  return word === "" ? undefined : word;
}

function isCall(value: unknown): value is LangChainCall {
  return isObject(value) && typeof value.name === "string";
}
