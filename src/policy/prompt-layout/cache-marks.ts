/**
 * Marks up to which Anthropic is to keep the prompt (`cache_control`), where a conversation of agents gains from them:
 *
 *     tools ─┤mark│ system ─┤mark│ … last message but one of the caller's ─┤mark│ … last message ─┤mark│
 *
 * The last one is written for the next request; the one before it is where this request reads, and stands no more than the
 * provider's look-back away. At most four in all; a prefix that is too short to be kept gets none, and uses none up. A
 * caller that sets marks of its own knows better, and its request stays as it is.
 */
import { markOutlook } from "./cache-minimum.ts";
import { type LayoutPart, layoutOf, type PartKind, tokensOf } from "./prompt-layout.ts";

type Json = Readonly<Record<string, unknown>>;

export interface MarkOptions {
  /** Tokens that the model keeps at the least; null if that is not known: then marks are set, and usage will tell. */
  readonly minimumTokens: number | null;
}

export interface MarkedBody {
  readonly body: Json;
  /** Tokens of the longest prefix that is marked, by estimate; 0 if there is none. */
  readonly markedTokens: number;
}

const MARKS_MAX = 4;
const MARK = { cache_control: { type: "ephemeral" } };
/** What may carry a mark; thinking may not, nor an empty text. */
export const MARKABLE: ReadonlySet<unknown> = new Set([
  "text",
  "image",
  "document",
  "tool_use",
  "tool_result",
]);
/** Where a mark may go: the part whose end it is. */
interface Place {
  readonly tokens: number;
  mark(body: Json): Json;
}

/** @param body of Anthropic's messages. */
export function withCacheMarks(body: Json, { minimumTokens }: MarkOptions): MarkedBody {
  if (hasMark(body)) return { body, markedTokens: 0 };
  const places = placesIn(body).filter(({ tokens }) => {
    return markOutlook(tokens, minimumTokens) !== "too_short";
  });
  // The latest reach furthest.
  const chosen = places.slice(-MARKS_MAX);
  const marked = chosen.reduce((made, place) => place.mark(made), body);
  return { body: marked, markedTokens: chosen.at(-1)?.tokens ?? 0 };
}

/** Whether the caller has set marks, in any place that may have one. */
function hasMark(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > 6) return false;
  if (Array.isArray(value)) return value.some((one) => hasMark(one, depth + 1));
  if ("cache_control" in value) return true;
  const { tools, system, messages, content } = value as Json;
  return [tools, system, messages, content].some((one) => hasMark(one, depth + 1));
}

function placesIn(body: Json): Place[] {
  const { parts } = layoutOf(body);
  const places: Place[] = [];
  if (Array.isArray(body.tools) && lastTool(body.tools) >= 0) {
    places.push({ tokens: tokensBefore(parts, endOf(parts, "tool")), mark: markTools });
  }
  const system = markedBlocks(body.system);
  if (system !== undefined) {
    const tokens = tokensBefore(parts, endOf(parts, "system"));
    places.push({ tokens, mark: (made) => ({ ...made, system }) });
  }
  const messages = Array.isArray(body.messages) ? (body.messages as unknown[]) : [];
  for (const at of callersLast(messages)) {
    const content = markedBlocks((messages[at] as Json).content);
    if (content === undefined) continue;
    const tokens = tokensBefore(parts, messageEnd(parts, at));
    places.push({ tokens, mark: (made) => withContent(made, at, content) });
  }
  return places;
}

function tokensBefore(parts: readonly LayoutPart[], end: number): number {
  let chars = 0;
  for (const part of parts.slice(0, end)) if (part.kind !== "setting") chars += part.chars;
  return tokensOf(chars);
}

function endOf(parts: readonly LayoutPart[], kind: PartKind): number {
  return parts.findLastIndex((part) => part.kind === kind) + 1;
}

function messageEnd(parts: readonly LayoutPart[], message: number): number {
  const prefix = `messages[${message}]`;
  const last = parts.findLastIndex(({ path }) => path === prefix || path.startsWith(`${prefix}.`));
  return last + 1;
}

/** The caller's last two messages: where this request reads, and where the next one will. */
function callersLast(messages: readonly unknown[]): number[] {
  const own = messages.flatMap((message, at) =>
    (message as Json | null)?.role === "user" ? [at] : [],
  );
  return own.slice(-2);
}

function lastTool(tools: readonly unknown[]): number {
  return tools.findLastIndex((tool) => (tool as Json | null)?.defer_loading !== true);
}

function markTools(body: Json): Json {
  const tools = [...(body.tools as Json[])];
  const at = lastTool(tools);
  tools[at] = { ...tools[at], ...MARK };
  return { ...body, tools };
}

function withContent(body: Json, at: number, content: unknown): Json {
  const messages = [...(body.messages as Json[])];
  messages[at] = { ...messages[at], content };
  return { ...body, messages };
}

/** @returns the content with a mark at its end; undefined if nothing in it can carry one. */
function markedBlocks(content: unknown): unknown {
  if (typeof content === "string") {
    return content.trim() === "" ? undefined : [{ type: "text", text: content, ...MARK }];
  }
  if (!Array.isArray(content)) return undefined;
  const at = (content as Json[]).findLastIndex(isMarkable);
  if (at < 0) return undefined;
  const blocks = [...(content as Json[])];
  blocks[at] = { ...blocks[at], ...MARK };
  return blocks;
}

function isMarkable(block: Json | null): boolean {
  if (block === null || !MARKABLE.has(block.type)) return false;
  return block.type !== "text" || (typeof block.text === "string" && block.text.trim() !== "");
}
