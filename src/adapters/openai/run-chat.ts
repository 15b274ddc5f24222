/**
 * An agent over `client.chat.completions`: the turn's tools are declared, each call runs from its last brace on, results
 * go back in order, until the model answers. Only the client's shape is used: `openai`, or anything that is like it.
 *
 *     const run = runChat(client, { model, messages }, { turn });
 *     for await (const text of run) show(text);
 *     const { text, messages, usage } = await run.result();
 */
import { toolDeclarations } from "../../runtime/index.ts";
import { type AgentOptions, AgentRun } from "../loop/agent-run.ts";
import { retriesFor } from "../loop/retries.ts";

export interface ChatClient {
  readonly chat: {
    readonly completions: {
      create(body: never, options?: never): PromiseLike<unknown>;
    };
  };
}

/** The body of a chat completion; its own `tools` come behind the turn's. */
export interface ChatParams {
  readonly model: string;
  readonly messages: readonly object[];
  readonly tools?: readonly object[];
}

/** @param params any field of the body besides those named: hence a type of its own, which may have more. */
export function runChat<Params extends ChatParams>(
  client: ChatClient,
  params: Params,
  options: AgentOptions,
): AgentRun {
  const { turn, maxRetries } = options;
  const declared = toolDeclarations(turn.tools, "openai-chat");
  declared.catch(() => {});
  return new AgentRun(
    {
      format: "openai-chat",
      name: params.model,
      messages: params.messages,
      ask: async (said, call) => {
        const tools = [...(await declared), ...(params.tools ?? [])];
        const body = {
          stream_options: { include_usage: true },
          ...params,
          messages: [...params.messages, ...said],
          // An empty list is refused.
          ...(tools.length > 0 && { tools }),
          stream: true,
        };
        return client.chat.completions.create(body as never, call as never);
      },
    },
    { ...options, ...retriesFor(client, maxRetries) },
  );
}
