/**
 * One tool as a server lists it. Its schema stays text until somebody asks for it: of two hundred tools a turn uses five,
 * and parsing and checking the rest is start-up time for nothing.
 */
import type { JsonSchema } from "../input-check.ts";

/** What a server answers; the shape of MCP's `tools/list`. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
  /** MCP's hints and whatever else the server says of it; kept as it is. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/** As it is kept and stored. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  /** JSON */
  readonly schemaText: string;
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface Listing {
  readonly tools: readonly ListedTool[];
  /** Entries of the server that are no tools, or too large; set aside. */
  readonly setAside: number;
}

const TOOLS_MAX = 10_000;
const SCHEMA_CHARS_MAX = 1_000_000;
const DESCRIPTION_CHARS_MAX = 20_000;

/** @param answer of a server, which may be anything. @throws Error if it is no list. */
export function readListing(answer: unknown): Listing {
  if (!Array.isArray(answer)) throw new Error("the server's answer is no list of tools");
  if (answer.length > TOOLS_MAX) throw new Error(`the server lists more than ${TOOLS_MAX} tools`);
  const tools: ListedTool[] = [];
  const seen = new Set<string>();
  for (const one of answer as readonly Partial<ServerTool>[]) {
    const tool = readTool(one);
    if (tool === undefined || seen.has(tool.name)) continue;
    seen.add(tool.name);
    tools.push(tool);
  }
  return { tools, setAside: answer.length - tools.length };
}

/** @returns undefined for what was not written by `JSON.stringify` of a listing. */
export function storedListing(stored: unknown): Listing | undefined {
  if (!Array.isArray(stored)) return undefined;
  for (const one of stored as readonly Partial<ListedTool>[]) {
    const isTool =
      typeof one?.name === "string" &&
      typeof one.description === "string" &&
      typeof one.schemaText === "string" &&
      isRecord(one.annotations);
    if (!isTool) return undefined;
  }
  return { tools: stored as readonly ListedTool[], setAside: 0 };
}

function readTool(one: Partial<ServerTool> | null | undefined): ListedTool | undefined {
  const { name, description = "", inputSchema, annotations } = one ?? {};
  if (typeof name !== "string" || name === "" || !isRecord(inputSchema)) return undefined;
  const schemaText = JSON.stringify(inputSchema);
  if (schemaText.length > SCHEMA_CHARS_MAX) return undefined;
  return {
    name,
    description: String(description).slice(0, DESCRIPTION_CHARS_MAX),
    schemaText,
    annotations: isRecord(annotations) ? annotations : {},
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
