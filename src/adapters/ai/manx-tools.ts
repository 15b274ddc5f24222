/**
 * The turn's tools as the AI SDK's `tools`. Each `execute` takes over the run that the middleware has had started for this
 * very call; without the middleware, or if the AI SDK has repaired the arguments, it has the call run now. Either way
 * effects, deadlines, limits and results are the turn's.
 */
import { canonicalJson } from "../../runtime/canonical-json.ts";
import type { Tool, Turn } from "../../runtime/index.ts";
import { valueText } from "../../runtime/result-text.ts";
import { inputSchema } from "../../runtime/tool-declarations.ts";
import { CallDesk } from "../loop/call-desk.ts";
import { runCalls } from "../loop/run-calls.ts";
import { unlessAborted } from "../loop/unless-aborted.ts";

interface ExecuteOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

/** As the AI SDK wants a tool. */
export interface AiTool {
  readonly description?: string;
  readonly inputSchema: AiSchema;
  /** @throws an error with the result's text, which the AI SDK hands to the model as one. */
  readonly execute: (input: unknown, options: ExecuteOptions) => Promise<unknown>;
  readonly toModelOutput: (one: { readonly output: unknown }) => {
    readonly type: "text";
    readonly value: string;
  };
}

/** A Standard Schema that tells its JSON Schema and lets everything through: the turn checks the arguments itself. */
interface AiSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

/** @throws MANX_TOOL_INVALID for an input that tells no schema. */
export async function manxTools(turn: Turn): Promise<Record<string, AiTool>> {
  const tools: Record<string, AiTool> = {};
  // In one order, whatever that of the box is, so that requests begin alike.
  for (const name of [...turn.tools.names].sort()) {
    tools[name] = await aiTool(turn, turn.tools.get(name)!);
  }
  return tools;
}

async function aiTool(turn: Turn, tool: Tool): Promise<AiTool> {
  const { name, description } = tool;
  const schema = await inputSchema(tool);
  const copy = (): Record<string, unknown> => structuredClone(schema) as Record<string, unknown>;
  return {
    ...(description !== undefined && { description }),
    inputSchema: {
      "~standard": {
        version: 1,
        vendor: "manx",
        validate: (value) => ({ value }),
        jsonSchema: { input: copy, output: copy },
      },
    },
    execute: async (input, { toolCallId: id, abortSignal }) => {
      const running =
        CallDesk.of(turn).claim(id, input) ??
        runCalls(turn, [{ id, name, args: canonicalJson(input) }]).then(([only]) => only!);
      // The run itself ends with the turn; who has aborted does not wait for it.
      const result = await (abortSignal === undefined
        ? running
        : unlessAborted(running, abortSignal));
      if (result.isError) throw new Error(result.text);
      return result.value ?? result.text;
    },
    toModelOutput: ({ output }) => ({ type: "text", value: valueText(output, tool).text }),
  };
}
