/**
 * A node for LangGraph.js in the place of `ToolNode`: the calls of the newest message run as Manx runs calls, with their
 * needs, bounds and deadlines, and come back as tool messages in the order of the calls. It never throws for a tool.
 *
 *     new StateGraph(MessagesAnnotation).addNode("model", callModel).addNode("tools", manxToolNode(tools))
 */
import {
  type Tool,
  ToolBox,
  type ToolResult,
  Turn,
  type TurnOptions,
} from "../../runtime/index.ts";
import { isObject } from "../../stream/wire-words.ts";
import { CallDesk } from "../loop/call-desk.ts";
import { runCalls } from "../loop/run-calls.ts";
import { unlessAborted } from "../loop/unless-aborted.ts";
import { type LangChainCall, openCalls } from "./ai-message.ts";

/** The part of `RunnableConfig` that is used. */
export interface NodeConfig {
  readonly signal?: AbortSignal | undefined;
}

export interface ToolNodeOptions
  extends Pick<TurnOptions, "deadline" | "limits" | "admit" | "observe" | "grace" | "clock"> {
  /**
   * The turn in whose time and bounds calls run; the node does not close it. Default: a turn of its own for each run of the
   * node, made of the options beside this.
   */
  readonly turn?: Turn | ((config: NodeConfig) => Turn | undefined);
  /** Of the state's field with the messages. Default `messages`. */
  readonly messagesKey?: string;
}

/** A message as LangChain's reducers take it, and as their own class. */
export type ToolMessage = object;

/** @returns a node for a state, a bare list of messages, or one call (`Send` with `lg_tool_call`). */
export function manxToolNode(
  tools: ToolBox | readonly Tool[],
  options: ToolNodeOptions = {},
): (state: unknown, config?: NodeConfig) => Promise<Record<string, ToolMessage[]>> {
  const box = tools instanceof ToolBox ? tools : new ToolBox(tools);
  const { turn: given, messagesKey = "messages", ...turnOptions } = options;
  return async (state, config = {}) => {
    const found = typeof given === "function" ? given(config) : given;
    const { signal } = config;
    const turn =
      found ?? new Turn({ ...turnOptions, tools: box, ...(signal !== undefined && { signal }) });
    try {
      const { calls, reason } = callsIn(state, messagesKey);
      const all = runAll(turn, calls, reason);
      // A graph that was called off is no failure of a tool.
      const results = await (signal === undefined ? all : unlessAborted(all, signal));
      return { [messagesKey]: await toolMessages(results) };
    } finally {
      if (turn !== found) await turn.close();
    }
  };
}

function callsIn(state: unknown, key: string): ReturnType<typeof openCalls> {
  if (Array.isArray(state)) return openCalls(state);
  if (!isObject(state)) return { calls: [], reason: undefined };
  const { lg_tool_call: only } = state;
  if (isObject(only)) return { calls: [only as unknown as LangChainCall], reason: undefined };
  const messages = state[key];
  return openCalls(Array.isArray(messages) ? messages : []);
}

/** Those that the model's stream has had started are taken over; the others run as one message, so that needs hold. */
async function runAll(
  turn: Turn,
  calls: readonly LangChainCall[],
  reason: string | undefined,
): Promise<readonly ToolResult[]> {
  const desk = CallDesk.of(turn);
  const claimed = calls.map(({ id, args }) => desk.claim(id ?? "", args));
  const others = calls.filter((_, i) => claimed[i] === undefined);
  const late = others.length === 0 ? [] : await runCalls(turn, others, reason);
  const rest = [...late];
  return Promise.all(claimed.map((one) => one ?? rest.shift()!));
}

async function toolMessages(results: readonly ToolResult[]): Promise<ToolMessage[]> {
  // Only who runs a graph has it: not needed to import this.
  const { ToolMessage } = await import("@langchain/core/messages");
  return results.map(
    ({ id, name, text, isError, value }) =>
      new ToolMessage({
        tool_call_id: id,
        name,
        content: text,
        status: isError ? "error" : "success",
        ...(value !== undefined && { artifact: value }),
      }),
  );
}
