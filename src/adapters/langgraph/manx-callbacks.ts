/**
 * Callbacks for a model of LangChain that show its stream to a turn, so that the tools of `manxToolNode(box, { turn })` run
 * from the last brace on, while the model still writes: `model.invoke(messages, { callbacks: [manxCallbacks(turn)] })`.
 */
import type { Step, Turn } from "../../runtime/index.ts";
import { isObject, type JsonObject } from "../../stream/wire-words.ts";
import { CallDesk } from "../loop/call-desk.ts";
import { finishOf } from "./ai-message.ts";

/** The methods of a callback handler that are used. */
export interface ManxCallbacks {
  readonly name: string;
  /** Has `invoke` stream, too. */
  readonly lc_prefer_streaming: true;
  /** In the stream's own time, not behind it. */
  readonly awaitHandlers: true;
  readonly handleChatModelStart: (model: unknown, messages: unknown, runId: string) => void;
  readonly handleLLMNewToken: (...told: unknown[]) => void;
  readonly handleLLMEnd: (output: unknown, runId: string) => void;
  readonly handleLLMError: (error: unknown, runId: string) => void;
}

export function manxCallbacks(turn: Turn): ManxCallbacks {
  /** Model calls that are under way, by run. Each leaves when it ends. */
  const steps = new Map<string, Step>();

  const stepOf = (runId: string): Step => {
    const known = steps.get(runId);
    if (known !== undefined) return known;
    const step = turn.step("openai-chat");
    steps.set(runId, step);
    CallDesk.of(turn).put({
      step,
      argsOf: (id) => step.completion.toolCalls.find((call) => call.id === id)?.argumentsText,
    });
    return step;
  };

  return {
    name: "manx",
    lc_prefer_streaming: true,
    awaitHandlers: true,
    handleChatModelStart: (_model, _messages, runId) => void stepOf(runId),
    handleLLMNewToken: (token, _at, runId, _parent, _tags, fields) => {
      const tool_calls = callChunks(fields);
      if (tool_calls.length === 0 && token === "") return;
      stepOf(String(runId)).chunk(chatChunk({ content: token, tool_calls }));
    },
    handleLLMEnd: (output, runId) => {
      const step = steps.get(runId);
      steps.delete(runId);
      // A message of an integration that tells no reason is whole, since it says nothing else.
      step?.chunk(chatChunk({}, finishOf(lastMessage(output)) ?? "tool_calls"));
      step?.end();
    },
    handleLLMError: (_error, runId) => {
      steps.get(runId)?.end();
      steps.delete(runId);
    },
  };
}

function chatChunk(delta: object, finish_reason: string | null = null): object {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

/** LangChain's pieces of calls in the form of a chat completion. */
function callChunks(fields: unknown): readonly object[] {
  const chunk = isObject(fields) ? fields.chunk : undefined;
  const message = isObject(chunk) ? chunk.message : undefined;
  const chunks = isObject(message) ? message.tool_call_chunks : undefined;
  return (Array.isArray(chunks) ? chunks : []).filter(isObject).map(callChunk);
}

function callChunk({ index, id, name, args }: JsonObject): object {
  return {
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: args ?? "" },
  };
}

function lastMessage(output: unknown): unknown {
  const generations = isObject(output) ? output.generations : undefined;
  const first = Array.isArray(generations) ? generations[0] : undefined;
  const generation = Array.isArray(first) ? first[0] : undefined;
  return isObject(generation) ? generation.message : undefined;
}
