/**
 * Why a model stopped, from the words of each wire. Providers are careless with them: the reason is read together with
 * whether there were tool calls (casebook RT-06).
 */
import type { FinishReason } from "./stream-event.ts";

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["eos", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_calls", "tool_calls"],
  ["tool_use", "tool_calls"],
  ["function_call", "tool_calls"],
  ["function_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["refusal", "content_filter"],
  ["safety", "content_filter"],
  ["pause_turn", "pause"],
]);

/** What is said at the end of a whole answer; with calls present it means that they are to be run. */
const PLAIN_ENDS: readonly string[] = ["stop", "end_turn", "eos"];

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
