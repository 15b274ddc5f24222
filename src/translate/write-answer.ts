/** A whole answer in each of the three formats. Counts that are not known are left out or null, never 0. */
import {
  chatReason,
  chatUsage,
  messagesReason,
  messagesUsage,
  responsesEnding,
  responsesUsage,
} from "../stream/wire-words.ts";
import { parseArguments } from "./arguments.ts";
import { type AnswerPart, type CanonicalAnswer, textIn } from "./canonical-answer.ts";
import { unreadable } from "./read-answer.ts";
import { wrapSeal } from "./seal.ts";

export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** Unix time, seconds. */
  readonly createdS: number;
}

/** Usage as OpenAI counts. */
export function writeChatAnswer(answer: CanonicalAnswer, head: AnswerHead): object {
  const { parts, finish, usage } = answer;
  const calls = parts.flatMap((part) => {
    if (part.kind !== "call") return [];
    const named = { name: part.name, arguments: wholeArguments(part.argumentsText) };
    return [{ id: part.id, type: "function", function: named }];
  });
  const thought = textIn(parts, "thinking");
  const message = {
    role: "assistant",
    content: textIn(parts, "text") || null,
    refusal: textIn(parts, "refusal") || null,
    ...(thought !== "" && { reasoning_content: thought }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const finish_reason = finish === null ? null : chatReason(finish.reason, finish.raw);
  return {
    id: head.id,
    object: "chat.completion",
    created: head.createdS,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: chatUsage(usage),
  };
}

/** Usage as Anthropic counts. @throws MANX_TRANSLATE_ANSWER for a call whose arguments are no JSON object. */
export function writeMessagesAnswer(answer: CanonicalAnswer, head: AnswerHead): object {
  const { parts, finish, usage, stopSequence } = answer;
  const isCut = finish?.reason === "length";
  const content = parts.flatMap((part) => writeBlock(part, isCut));
  const isRefusal = finish?.reason === "stop" && parts.some((part) => part.kind === "refusal");
  const reason = finish === null ? null : messagesReason(finish.reason, finish.raw);
  return {
    id: head.id,
    type: "message",
    role: "assistant",
    model: head.model,
    content,
    stop_reason: isRefusal ? "refusal" : reason,
    stop_sequence: stopSequence,
    usage: messagesUsage(usage),
  };
}

function writeBlock(part: AnswerPart, isCut: boolean): object[] {
  switch (part.kind) {
    case "text":
    case "refusal":
      return [{ type: "text", text: part.text }];
    case "thinking": {
      const signature = part.seal === undefined ? "" : wrapSeal(part.seal);
      return [{ type: "thinking", thinking: part.text, signature }];
    }
    case "call": {
      const input = parseArguments(part.argumentsText);
      if (input !== undefined) return [{ type: "tool_use", id: part.id, name: part.name, input }];
      // The limit fell into the call: the reason says so, and half a call must not be run.
      if (isCut) return [];
      throw unreadable("the arguments of a call are no JSON object");
    }
  }
}

/** Usage as OpenAI counts. */
export function writeResponsesAnswer(answer: CanonicalAnswer, head: AnswerHead): object {
  const { parts, finish, usage } = answer;
  const { status, reason } = responsesEnding(finish?.reason ?? null, finish?.raw ?? "");
  const output = joinMessageParts(parts, head.id);
  return {
    id: head.id.startsWith("resp_") ? head.id : `resp_${head.id}`,
    object: "response",
    created_at: head.createdS,
    status,
    error: null,
    incomplete_details: reason === null ? null : { reason },
    instructions: null,
    metadata: {},
    model: head.model,
    output,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: "auto",
    tools: [],
    top_p: null,
    usage: responsesUsage(usage),
  };
}

function joinMessageParts(parts: readonly AnswerPart[], id: string): object[] {
  const output: object[] = [];
  let content: object[] = [];
  const endMessage = (): void => {
    if (content.length === 0) return;
    const message = { id: `msg_${id}_${output.length}`, type: "message", role: "assistant" };
    output.push({ ...message, status: "completed", content });
    content = [];
  };
  for (const part of parts) {
    if (part.kind === "text") {
      content.push({ type: "output_text", text: part.text, annotations: [], logprobs: [] });
    } else if (part.kind === "refusal") content.push({ type: "refusal", refusal: part.text });
    else {
      endMessage();
      output.push(writeItem(part, `${id}_${output.length}`));
    }
  }
  endMessage();
  return output;
}

function writeItem(part: Extract<AnswerPart, { kind: "call" | "thinking" }>, id: string): object {
  if (part.kind === "call") {
    const args = wholeArguments(part.argumentsText);
    const call = { call_id: part.id, name: part.name, arguments: args };
    return { id: `fc_${id}`, type: "function_call", status: "completed", ...call };
  }
  const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }];
  const sealed = part.seal !== undefined && { encrypted_content: wrapSeal(part.seal) };
  return { id: `rs_${id}`, type: "reasoning", summary, ...sealed };
}

/** No arguments are `{}` to a client that parses them (casebook RT-02). */
function wholeArguments(text: string): string {
  return text.trim() === "" ? "{}" : text;
}
