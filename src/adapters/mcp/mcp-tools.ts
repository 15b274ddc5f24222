/**
 * The tools of an MCP server as tools of Manx. A server's own word on what its tools do is believed only if it is trusted:
 * a tool of an unknown server counts as irreversible, so it never runs early and never twice.
 *
 *     deadline of the call ─► `_meta["manx/deadline-ms"]` for a server that reads it
 *     signal of the call ───► `notifications/cancelled`, at the deadline too
 *     progress ─────────────► proof of life: it moves the idle limit, never the deadline
 */
import { ManxError } from "../../core/index.ts";
import {
  type Effect,
  type JsonSchema,
  type TimeSpan,
  type Tool,
  type ToolContext,
  tool,
} from "../../runtime/index.ts";
import { compileInput, type InputCheck } from "../../runtime/input-check.ts";
import { spanUs } from "../../runtime/time-span.ts";
import { isObject } from "../../stream/wire-words.ts";
import { contentText } from "./content-text.ts";
import type { McpClient, McpRequestOptions, McpTool } from "./mcp-client.ts";

export interface McpToolsOptions {
  /** What each tool does to the world, by the name that the server gives it. It goes before all hints. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** Whether the hints of the server count: `readOnlyHint` as pure, `idempotentHint` as idempotent. Default false. */
  readonly trust?: boolean;
  /** Before each name, for servers whose names clash: `github_` makes `search` to `github_search`. */
  readonly prefix?: string;
  /** For each call. Default: the turn's. */
  readonly deadline?: TimeSpan;
  /** Without result and progress for this long, a call is given up. Default 60 s. */
  readonly idle?: TimeSpan;
  /** For the listing. */
  readonly signal?: AbortSignal;
}

/** Where a server finds how many ms a call has. */
const DEADLINE_META = "manx/deadline-ms";
const PAGES_MAX = 100;
const TOOLS_MAX = 1_000;
const NAME_CHARS_MAX = 64;
/** Behind the deadline, which the signal keeps: only for a client that does not heed it. */
const NET_MS = 1_000;
/** What timers can hold. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/**
 * @returns a tool for each that the server lists, all pages.
 * @throws what the client throws; MANX_TOOL_INVALID for names that clash, effects for tools that are not there, and a server
 *   whose list has no end.
 */
export async function mcpTools(
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<readonly Tool[]> {
  const { effects = {}, prefix = "", idle = "60s" } = options;
  const idleMs = Math.ceil(spanUs(idle, "idle") / 1_000);
  const listed = await listAll(client, options.signal);
  const missing = Object.keys(effects).find((name) => listed.every((one) => one.name !== name));
  if (missing !== undefined) {
    throw new ManxError("MANX_TOOL_INVALID", {
      what: "an effect for a tool that the server does not list",
      where: "effects",
      got: JSON.stringify(missing),
    });
  }
  const byName = new Map<string, string>();
  const tools: Tool[] = [];
  for (const one of listed) {
    const name = wireName(prefix + one.name);
    const other = byName.get(name);
    if (other !== undefined) throw clash(name, other, one.name);
    byName.set(name, one.name);
    tools.push(await declare(client, one, { ...options, name, idleMs }));
  }
  return tools;
}

/** All pages. @throws what the client throws; MANX_TOOL_INVALID for a list without end. */
export async function listAll(
  client: Pick<McpClient, "listTools">,
  signal: AbortSignal | undefined,
): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const one = await client.listTools(params, signal === undefined ? {} : { signal });
    tools.push(...one.tools);
    if (tools.length > TOOLS_MAX) break;
    cursor = one.nextCursor;
    if (cursor === undefined || cursor === "") return tools;
  }
  throw new ManxError("MANX_TOOL_INVALID", {
    what: "an MCP server that lists more tools than can be of use",
    expected: `at most ${TOOLS_MAX} tools on ${PAGES_MAX} pages`,
    got: `${tools.length}, and more to come`,
  });
}

interface Declaring extends McpToolsOptions {
  readonly name: string;
  readonly idleMs: number;
}

async function declare(client: McpClient, listed: McpTool, options: Declaring): Promise<Tool> {
  const { name, description } = { description: listed.description, name: options.name };
  const schema = listed.inputSchema as JsonSchema;
  const check = await checkOf(schema, name);
  return tool<Record<string, unknown>, string>({
    name,
    ...(description !== undefined && { description }),
    effect: effectOf(listed, options),
    input: (value) => checked(value, check),
    schema,
    ...(options.deadline !== undefined && { deadline: options.deadline }),
    run: (args, context) => call(client, { listed, args, idleMs: options.idleMs }, context),
  });
}

function effectOf({ name, annotations = {} }: McpTool, options: McpToolsOptions): Effect {
  const { effects = {}, trust = false } = options;
  if (Object.hasOwn(effects, name)) return effects[name]!;
  if (!trust) return "irreversible";
  if (annotations.readOnlyHint === true) return "pure";
  return annotations.idempotentHint === true ? "idempotent" : "irreversible";
}

/** A schema that cannot be compiled here is the server's to check. */
async function checkOf(schema: JsonSchema, name: string): Promise<InputCheck | undefined> {
  try {
    return await compileInput(schema, `tool "${name}"`);
  } catch {
    return undefined;
  }
}

function checked(value: unknown, check: InputCheck | undefined): Record<string, unknown> {
  const result = check?.(value);
  // A compiled JSON Schema answers at once.
  if (result !== undefined && "problem" in result) throw new Error(result.problem);
  return value as Record<string, unknown>;
}

interface Calling {
  readonly listed: McpTool;
  readonly args: Record<string, unknown>;
  readonly idleMs: number;
}

async function call(
  client: McpClient,
  { listed, args, idleMs }: Calling,
  { signal, leftUs }: ToolContext,
): Promise<string> {
  const totalMs = Math.min(Math.ceil(leftUs / 1_000) + NET_MS, TIMEOUT_MS_MAX);
  const isBound = Number.isFinite(leftUs);
  const options: McpRequestOptions = {
    signal,
    timeout: idleMs,
    resetTimeoutOnProgress: true,
    // Without somebody to tell, no progress is asked for.
    onprogress: () => {},
    ...(isBound && { maxTotalTimeout: totalMs }),
  };
  const params = {
    name: listed.name,
    arguments: args,
    ...(isBound && { _meta: { [DEADLINE_META]: Math.floor(leftUs / 1_000) } }),
  };
  const result = await client.callTool(params, undefined, options);
  const text = contentText(result);
  if (isObject(result) && result.isError === true) {
    throw new Error(text || "the tool reports an error without a text");
  }
  return text === "" ? "(no result)" : text;
}

/** Servers may name a tool as they like; models' APIs take fewer signs. */
function wireName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, NAME_CHARS_MAX) || "_";
}

function clash(name: string, one: string, other: string): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "two tools of an MCP server that get one name",
    where: `tool "${name}"`,
    got: `${JSON.stringify(one)} and ${JSON.stringify(other)}`,
    hint: "names are cut to what models take: letters, digits, _ and -, at most 64",
  });
}
