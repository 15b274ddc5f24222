/**
 * Canonical events to OpenAI chat completion frames. Keys come in a fixed order, so equal events give equal bytes. Reading
 * the frames gives the events back, but for those that this wire has no form for: block starts, signatures, ends of calls,
 * faults and unknown frames encode to nothing.
 */
import { chatReason } from "./finish-reason.ts";
import type { StreamEventBody } from "./stream-event.ts";
import { chatUsage } from "./usage-writer.ts";

export interface ChatHead {
  readonly id: string;
  readonly model: string;
  /** Unix time, seconds. */
  readonly createdS: number;
}

export const CHAT_DONE = "data: [DONE]\n\n";

/** @returns one frame with its blank line, or "" if the wire has no form for the event. */
export function encodeChatChunk(head: ChatHead, event: StreamEventBody): string {
  switch (event.type) {
    case "response-start":
      return choiceFrame(head, 0, { role: "assistant", content: "" });
    case "text-delta":
      return choiceFrame(head, event.choice, { content: event.text });
    case "reasoning-delta":
      return choiceFrame(head, event.choice, { reasoning_content: event.text });
    case "refusal-delta":
      return choiceFrame(head, event.choice, { refusal: event.text });
    case "tool-start": {
      const named = { name: event.name, arguments: "" };
      const call = { index: event.call, id: event.id, type: "function", function: named };
      return choiceFrame(head, event.choice, { tool_calls: [call] });
    }
    case "tool-delta": {
      const call = { index: event.call, function: { arguments: event.json } };
      return choiceFrame(head, event.choice, { tool_calls: [call] });
    }
    case "finish":
      return choiceFrame(head, event.choice, {}, chatReason(event.reason, event.rawReason));
    case "usage":
      return frame({ ...shared(head), choices: [], usage: chatUsage(event.usage) });
    case "error": {
      const { errorType: type, message, status } = event;
      return frame({ error: { message, type, code: status } });
    }
    case "ping":
      return ":\n\n";
    case "done":
      return CHAT_DONE;
    default:
      return "";
  }
}

function choiceFrame(
  head: ChatHead,
  index: number,
  delta: Readonly<Record<string, unknown>>,
  finish_reason: string | null = null,
): string {
  return frame({ ...shared(head), choices: [{ index, delta, finish_reason }] });
}

function shared({ id, model, createdS: created }: ChatHead): Record<string, unknown> {
  return { id, object: "chat.completion.chunk", created, model };
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
