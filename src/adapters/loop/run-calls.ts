/** Calls that are known whole, as of a framework that has read the message itself: one message of the turn, at once. */
import type { Step, ToolResult, Turn } from "../../runtime/index.ts";

export interface WholeCall {
  /** Empty or absent: one is made. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly args: unknown;
}

/**
 * @param reason why the message ended, in the words of any wire, if the framework tells it.
 * @returns a result for each, in their order; never rejects.
 */
export function runCalls(
  turn: Turn,
  calls: readonly WholeCall[],
  reason = "tool_calls",
): Promise<readonly ToolResult[]> {
  const step = turn.step("openai-chat", { recordsCall: false });
  pushCalls(step, calls);
  step.chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  step.end();
  return step.results();
}

function pushCalls(step: Step<"openai-chat">, calls: readonly WholeCall[]): void {
  for (const [index, { id, name, args }] of calls.entries()) {
    const json = typeof args === "string" ? args : JSON.stringify(args ?? {});
    const call = { index, id: id ?? "", type: "function", function: { name, arguments: json } };
    step.chunk({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
  }
}
