/**
 * Why a model stopped: from the words of each wire, and back into them. Providers are careless with them: the reason is read together with
 * whether there were tool calls (casebook RT-06).
 */
import type { FinishReason } from "./stream-event.ts";

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["eos", "stop"],
  ["completed", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_calls", "tool_calls"],
  ["tool_use", "tool_calls"],
  ["function_call", "tool_calls"],
  ["function_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["refusal", "content_filter"],
  ["safety", "content_filter"],
  ["recitation", "content_filter"],
  ["blocklist", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["spii", "content_filter"],
  ["pause_turn", "pause"],
]);

/** What is said at the end of a whole answer; with calls present it means that they are to be run. */
const PLAIN_ENDS: readonly string[] = ["stop", "end_turn", "eos", "completed"];

/**
 * @param hasCalls whether the choice has calls that the client is to run.
 * @returns `tool_calls` exactly if there are calls and the reason lets them be run: a plain stop with calls means calls,
 *   and "tool calls" without any is a final answer, so that no agent loops on it.
 */
export function finishReason(raw: string, hasCalls: boolean): FinishReason {
  const word = raw.toLowerCase();
  const reason = REASONS.get(word) ?? "other";
  if (hasCalls) return PLAIN_ENDS.includes(word) ? "tool_calls" : reason;
  return reason === "tool_calls" ? "stop" : reason;
}

const CHAT_WORDS: Readonly<Record<FinishReason, string | undefined>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  pause: "stop",
  other: undefined,
};

const MESSAGES_WORDS: Readonly<Record<FinishReason, string | undefined>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  pause: "pause_turn",
  other: undefined,
};

/** @returns OpenAI's word in a chat completion; a reason that nobody knows goes on as it came. */
export function chatReason(reason: FinishReason, raw: string): string {
  return CHAT_WORDS[reason] ?? raw;
}

/** @returns Anthropic's `stop_reason`; what is its own word already stays, and so does what nobody knows. */
export function messagesReason(reason: FinishReason, raw: string): string {
  const own = raw === "stop_sequence" || raw === "model_context_window_exceeded";
  return own ? raw : (MESSAGES_WORDS[reason] ?? raw);
}

export interface ResponsesEnding {
  readonly status: "completed" | "incomplete";
  /** Of `incomplete_details`; null if completed. */
  readonly reason: string | null;
}

/** @param reason null if the wire ended the answer without giving one. */
export function responsesEnding(reason: FinishReason | null, raw: string): ResponsesEnding {
  switch (reason) {
    case null:
    case "stop":
    case "tool_calls":
      return { status: "completed", reason: null };
    case "length":
      return { status: "incomplete", reason: "max_output_tokens" };
    case "content_filter":
      return { status: "incomplete", reason: "content_filter" };
    default:
      return { status: "incomplete", reason: raw };
  }
}
