/**
 * A tool of a prompt in the form that its owner has it: plain, as `toolDeclarations` makes it, as a provider takes it, or as an
 * MCP server lists it. One that is in the wanted form already goes out as it is, with fields that nobody here knows of, and
 * so does one that the provider runs itself. A form that cannot be read is refused: a tool without its schema would go out
 * in silence.
 */
import { ManxError } from "../../core/index.ts";
import type { CacheFormat } from "../../policy/index.ts";

type Json = Readonly<Record<string, unknown>>;

export interface DeclaredTool {
  readonly name: string;
  /** "" if there is none. */
  readonly description: string;
  write(format: CacheFormat): Json;
}

/** @throws MANX_TOOL_INVALID */
export function declaredTool(given: object, where: string): DeclaredTool {
  // A mark of its owner would count against the provider's four; where marks stand is the compiler's to say.
  const { cache_control: _, ...tool } = given as Json;
  const declared = isRecord(tool.function) ? tool.function : tool;
  const form = formOf(tool);
  const name = form === "own" ? nameOfOwn(tool) : declared.name;
  if (typeof name !== "string" || name === "") throw unreadable(where, tool);
  const description = typeof declared.description === "string" ? declared.description : "";
  if (form === "own") return { name, description, write: () => tool };
  // A tool that runs, of `tool()`: its schema may be one of zod, which is read asynchronously.
  if (typeof declared.run === "function") throw unreadable(where, tool);
  return {
    name,
    description,
    write: (format) => (form === format ? tool : writeTool(format, declared)),
  };
}

/** `own` is a tool that the provider runs, or one that only it knows, such as OpenAI's `custom`. */
function formOf(tool: Json): CacheFormat | "own" | "plain" {
  if (isRecord(tool.input_schema)) return "anthropic-messages";
  if (typeof tool.type === "string" && tool.type !== "function") return "own";
  if (isRecord(tool.function)) return "openai-chat";
  return tool.type === "function" ? "openai-responses" : "plain";
}

function nameOfOwn({ name, type, custom }: Json): unknown {
  return name ?? (isRecord(custom) ? custom.name : undefined) ?? type;
}

function writeTool(format: CacheFormat, declared: Json): Json {
  const { name, description, strict } = declared;
  const said = { name, ...(typeof description === "string" && { description }) };
  const schema = declared.parameters ??
    declared.input_schema ??
    declared.inputSchema ?? { type: "object", properties: {} };
  if (format === "anthropic-messages") return { ...said, input_schema: schema };
  const made = { ...said, parameters: schema, ...(typeof strict === "boolean" && { strict }) };
  if (format === "openai-responses") return { type: "function", ...made };
  return { type: "function", function: made };
}

function unreadable(where: string, tool: Json): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "a tool that cannot be put into a prompt",
    where,
    expected: "a declaration with a name, such as { name, description, parameters }",
    got: Object.keys(tool).join(", ") || "nothing",
    hint: "declare the tools of a ToolBox with `await toolDeclarations(box, format)`",
  });
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
