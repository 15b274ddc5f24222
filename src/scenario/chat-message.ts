/** Chunks of a chat stream that asks for tools, as a model would send them. */

export interface ChatCall {
  readonly name: string;
  readonly args: unknown;
}

/** Whole calls, one a chunk, and the end of the message. */
export function chatCalls(calls: readonly ChatCall[]): readonly object[] {
  const chunks = calls.map(({ name, args }, index) => callChunk(index, JSON.stringify(args), name));
  return [...chunks, END_CHUNK];
}

/** A piece of a call's arguments. @param name with its first piece. */
export function callChunk(index: number, json: string, name?: string): object {
  const opening = name === undefined ? {} : { id: `call_${index}`, type: "function" };
  const named = name === undefined ? { arguments: json } : { name, arguments: json };
  return chunk({ delta: { tool_calls: [{ index, ...opening, function: named }] } });
}

export function textChunk(content: string): object {
  return chunk({ delta: { content } });
}

export const END_CHUNK: object = chunk({ delta: {}, finish_reason: "tool_calls" });

function chunk(choice: object): object {
  return { id: "chatcmpl-1", model: "scripted", choices: [{ index: 0, ...choice }] };
}
