/**
 * An agent over `client.messages`: as `runChat`, on Anthropic's wire. Thinking goes back with its signature, a paused
 * message is asked for the rest of it, and results of one message stand in one message.
 */
import { toolDeclarations } from "../../runtime/index.ts";
import { type AgentOptions, AgentRun } from "../loop/agent-run.ts";
import { retriesFor } from "../loop/retries.ts";

export interface MessagesClient {
  readonly messages: { create(body: never, options?: never): PromiseLike<unknown> };
}

/** The body of a message; its own `tools` come behind the turn's. */
export interface MessagesParams {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly object[];
  readonly tools?: readonly object[];
}

export interface MessagesOptions extends AgentOptions {
  /**
   * Asks the provider to send arguments as they are written instead of whole (`eager_input_streaming`). Default false, since
   * other providers of this wire refuse the field.
   */
  readonly eagerInput?: boolean;
}

/** @param params any field of the body besides those named: hence a type of its own, which may have more. */
export function runMessages<Params extends MessagesParams>(
  client: MessagesClient,
  params: Params,
  options: MessagesOptions,
): AgentRun {
  const { turn, maxRetries, eagerInput = false } = options;
  const declared = toolDeclarations(turn.tools, "anthropic-messages");
  declared.catch(() => {});
  return new AgentRun(
    {
      format: "anthropic-messages",
      name: params.model,
      messages: params.messages,
      ask: async (said, call) => {
        const own = await declared;
        const eager = eagerInput
          ? own.map((one) => ({ ...one, eager_input_streaming: true }))
          : own;
        const tools = [...eager, ...(params.tools ?? [])];
        const body = {
          ...params,
          messages: [...params.messages, ...said],
          ...(tools.length > 0 && { tools }),
          stream: true,
        };
        return client.messages.create(body as never, call as never);
      },
    },
    { ...options, ...retriesFor(client, maxRetries) },
  );
}
