/**
 * The same as `runChat` over `client.responses`. Items go back as they came; with `store: false` reasoning comes encrypted,
 * and is asked for as such, since the model would lose it otherwise.
 */
import { toolDeclarations } from "../../runtime/index.ts";
import { type AgentOptions, AgentRun } from "../loop/agent-run.ts";
import { retriesFor } from "../loop/retries.ts";

export interface ResponsesClient {
  readonly responses: { create(body: never, options?: never): PromiseLike<unknown> };
}

/** The body of a response; its own `tools` come behind the turn's. */
export interface ResponsesParams {
  readonly model: string;
  readonly input: string | readonly object[];
  readonly tools?: readonly object[];
  readonly store?: boolean | null;
  readonly include?: readonly string[] | null;
}

const ENCRYPTED = "reasoning.encrypted_content";

/** @param params any field of the body besides those named: hence a type of its own, which may have more. */
export function runResponses<Params extends ResponsesParams>(
  client: ResponsesClient,
  params: Params,
  options: AgentOptions,
): AgentRun {
  const { turn, maxRetries } = options;
  const { input, store } = params;
  const asked = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const include = [...new Set([...(params.include ?? []), ENCRYPTED])];
  const declared = toolDeclarations(turn.tools, "openai-responses");
  declared.catch(() => {});
  return new AgentRun(
    {
      format: "openai-responses",
      name: params.model,
      messages: asked,
      ask: async (said, call) => {
        const tools = [...(await declared), ...(params.tools ?? [])];
        const body = {
          ...params,
          input: [...asked, ...said],
          ...(store === false && { include }),
          ...(tools.length > 0 && { tools }),
          stream: true,
        };
        return client.responses.create(body as never, call as never);
      },
    },
    { ...options, ...retriesFor(client, maxRetries) },
  );
}
