/**
 * The tools of a box as a request declares them. Always the same bytes for the same tools, in whatever order they were put
 * in: by name, the keywords of their schemas in one order, properties in the author's, since models fill them in that order.
 */
import { ManxError } from "../core/index.ts";
import { inCanonicalOrder } from "../policy/index.ts";
import type { DecodableFormat } from "../stream/index.ts";
import type { JsonSchema } from "./input-check.ts";
import type { Tool } from "./tool.ts";
import type { ToolBox } from "./tool-box.ts";

interface Declared {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonSchema;
}

/**
 * @returns what stands under `tools` of a request; empty for an empty box.
 * @throws MANX_TOOL_INVALID for an input that tells no schema: give the tool a `schema`.
 */
export async function toolDeclarations(
  box: ToolBox,
  format: DecodableFormat,
): Promise<readonly object[]> {
  const tools = box.names.map((name) => box.get(name)!).sort((a, b) => (a.name < b.name ? -1 : 1));
  const declared: Declared[] = [];
  for (const tool of tools) {
    const { name, description } = tool;
    declared.push({ name, description, schema: await inputSchema(tool) });
  }
  if (declared.length === 0) return [];
  if (format !== "gemini") return inOrder(declared.map((one) => WRITERS[format](one)));
  const functions = declared.map((one) => ({ ...named(one), parametersJsonSchema: one.schema }));
  return [{ functionDeclarations: inOrder(functions) }];
}

/** What a model is told of the tool's input. @throws MANX_TOOL_INVALID */
export async function inputSchema({ name, schema, input }: Tool): Promise<JsonSchema> {
  if (schema !== undefined) return bare(schema);
  if (typeof input === "object" && !("~standard" in input)) return bare(input as JsonSchema);
  try {
    const told = await toldBy(input);
    if (told !== undefined) return bare(told);
  } catch (cause) {
    throw new ManxError("MANX_TOOL_INVALID", {
      what: "an input that has no JSON Schema",
      where: `tool "${name}"`,
      got: cause instanceof Error ? cause.message : String(cause),
      hint: "give the tool a `schema` for the model to read",
      cause,
    });
  }
  throw new ManxError("MANX_TOOL_INVALID", {
    what: "an input that tells no JSON Schema",
    where: `tool "${name}"`,
    expected: "a zod schema, a JSON Schema, or a `schema` beside the input",
    got: typeof input === "function" ? "a function" : "a schema of another kind",
  });
}

/** The part of standardschema.dev that tells schemas, which zod has since 4.2. */
interface Telling {
  readonly "~standard": {
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => JsonSchema };
  };
}

async function toldBy(input: unknown): Promise<JsonSchema | undefined> {
  if (typeof input !== "object" || input === null) return undefined;
  const { jsonSchema } = (input as Telling)["~standard"];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  if (!("_zod" in input)) return undefined;
  const { z } = await import("zod");
  return z.toJSONSchema(input as never, { io: "input" }) as JsonSchema;
}

/** Providers know which dialect they read. */
function bare({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function named({ name, description }: Declared): object {
  return { name, ...(description !== undefined && { description }) };
}

const WRITERS: Readonly<Record<Exclude<DecodableFormat, "gemini">, (one: Declared) => object>> = {
  "openai-chat": (one) => ({
    type: "function",
    function: { ...named(one), parameters: one.schema },
  }),
  "openai-responses": (one) => ({
    type: "function",
    ...named(one),
    parameters: one.schema,
    strict: false,
  }),
  "anthropic-messages": (one) => ({ ...named(one), input_schema: one.schema }),
};

function inOrder(tools: readonly object[]): readonly object[] {
  return inCanonicalOrder({ tools }).tools as readonly object[];
}
