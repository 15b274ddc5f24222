/** What the end of a message means for its calls: the commit barrier. */
import type { Completion } from "../stream/index.ts";

export type StreamVerdict =
  /** Whole, and it asks for its calls to be run. */
  | "run"
  /** Whole, without calls. */
  | "no-calls"
  | "truncated"
  | "filtered"
  | "paused"
  /** Whole, but its finish reason does not stand for calls. */
  | "unsafe"
  /** The upstream reported an error. */
  | "failed"
  /** The bytes ended before the message did. */
  | "incomplete"
  /** The turn's time was over before the message was whole. */
  | "late"
  /** A guardrail has refused it. */
  | "refused"
  | "cancelled";

/** What a call of such a message is told. */
export const VERDICT_TEXT: Readonly<Record<Exclude<StreamVerdict, "run">, string>> = {
  "no-calls": "the message asks for no calls",
  truncated: "the message was cut at its length limit",
  filtered: "the message was stopped by a content filter",
  paused: "the message has only paused",
  unsafe: "the message did not end as one that asks for calls",
  failed: "the message ended in an error",
  incomplete: "the message broke off",
  late: "the turn's time was over before the message was whole",
  refused: "a guardrail has refused the message",
  cancelled: "the message was cancelled",
};

/** After these the same message may be asked for again, so what its pure calls have found may still be of use. */
export const MAY_COME_AGAIN: ReadonlySet<StreamVerdict> = new Set(["failed", "incomplete"]);

/** @returns undefined as long as it is open. */
export function verdictOf(completion: Completion): StreamVerdict | undefined {
  const { state, reason, rawReason, mayRunTools, toolCalls } = completion;
  switch (state) {
    case "open":
      return undefined;
    case "error":
      return "failed";
    case "incomplete":
      return "incomplete";
    default:
  }
  if (mayRunTools) return "run";
  if (reason === "length") return "truncated";
  if (reason === "content_filter") return "filtered";
  if (reason === "pause") return "paused";
  // Gemini says MALFORMED_FUNCTION_CALL instead of the call: there was to be one.
  const meantCalls = reason === "other" && /tool|function/i.test(rawReason ?? "");
  return meantCalls || toolCalls.some(({ byServer }) => !byServer) ? "unsafe" : "no-calls";
}
