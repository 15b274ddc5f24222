/**
 * One order for what has none of its own, so that equal prompts are equal bytes: tools by name, the keywords of their
 * schemas, results of parallel calls in the order of the calls, and the fields of the body with what is stable first.
 *
 * The properties of a schema stay in their order: models fill them in that order, and `reasoning` before `answer` is meant.
 * Nothing else is touched; what has no such parts comes back as it was.
 */
import { resultOf, toolName } from "./prompt-layout.ts";

type Json = Readonly<Record<string, unknown>>;

/** Before all others, in this order; `LAST` after them. What is rendered first is written first. */
const FIRST = ["model", "tools", "system", "instructions"];
const LAST = ["messages", "input"];
/** Keywords of a schema whose values are schemas by name, which keep their order. */
const BY_NAME: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const DEPTH_MAX = 64;

/** @param body of a request in any of the APIs, parsed. @returns the same request; parts are shared. */
export function inCanonicalOrder(body: Json): Json {
  const { tools, messages, input } = body;
  const ordered = {
    ...body,
    ...(Array.isArray(tools) && { tools: orderedTools(tools) }),
    ...(Array.isArray(messages) && { messages: orderedMessages(messages) }),
    ...(Array.isArray(input) && { input: orderedResults(input, isCallItem, isResultItem) }),
  };
  return Object.fromEntries(
    Object.entries(ordered).sort(([a], [b]) => rankOf(a) - rankOf(b) || compare(a, b)),
  );
}

function rankOf(field: string): number {
  const first = FIRST.indexOf(field);
  if (first >= 0) return first;
  const last = LAST.indexOf(field);
  return last < 0 ? FIRST.length : FIRST.length + 1 + last;
}

function orderedTools(tools: readonly unknown[]): unknown[] {
  return tools
    .map((tool) => orderedSchema(tool, 0))
    .sort((a, b) => compare(toolName(a), toolName(b)));
}

/** @param value a tool or a schema: its keys in one order, those of properties in theirs. */
function orderedSchema(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((one) => orderedSchema(one, depth + 1));
  const entries = Object.entries(value).sort(([a], [b]) => compare(a, b));
  return Object.fromEntries(
    entries.map(([key, one]) => [
      key,
      BY_NAME.has(key) ? orderedNames(one, depth + 1) : orderedSchema(one, depth + 1),
    ]),
  );
}

function orderedNames(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, one]) => [name, orderedSchema(one, depth)]));
}

function orderedMessages(messages: readonly unknown[]): unknown[] {
  const chat = orderedResults(messages, isCallMessage, isToolMessage);
  return chat.map((message, i) => withOrderedBlocks(message, chat[i - 1]));
}

/** Anthropic's results stand in one message, as blocks; those that are none stay where they are. */
function withOrderedBlocks(message: unknown, before: unknown): unknown {
  const { content } = asJson(message);
  const calls = asJson(before).content;
  if (!Array.isArray(content) || !Array.isArray(calls)) return message;
  const own = calls.map((block) => asJson(block)).filter(({ type }) => type === "tool_use");
  const places: Places = new Map();
  addPlaces(
    places,
    own.map(({ id }) => id),
  );
  const blocks = sortedWithin(content, places);
  return blocks === content ? message : { ...asJson(message), content: blocks };
}

/** Results that stand as items of their own behind the calls that they answer, each run of them by itself. */
function orderedResults(
  items: readonly unknown[],
  callsOf: (item: unknown) => readonly unknown[],
  isResult: (item: unknown) => boolean,
): unknown[] {
  const ordered: unknown[] = [];
  let places: Places = new Map();
  for (let at = 0; at < items.length; ) {
    const calls = callsOf(items[at]);
    if (calls.length > 0) {
      if (isCallItem(items[at - 1]).length === 0) places = new Map();
      addPlaces(places, calls);
    }
    let end = at;
    while (end < items.length && isResult(items[end])) end += 1;
    if (end === at) {
      ordered.push(items[at]);
      at += 1;
      continue;
    }
    for (const one of sortedWithin(items.slice(at, end), places)) ordered.push(one);
    at = end;
  }
  return ordered;
}

/** Of each call by its id, where it stands among those that are answered together. */
type Places = Map<unknown, number>;

function addPlaces(places: Places, ids: readonly unknown[]): void {
  for (const id of ids) if (!places.has(id)) places.set(id, places.size);
}

/** @returns the list itself if there is nothing to sort. */
function sortedWithin(list: readonly unknown[], places: Places): readonly unknown[] {
  const found = list.flatMap((one, at) => {
    const place = places.get(resultOf(one));
    return place === undefined ? [] : [{ one, at, place }];
  });
  if (found.length < 2) return list;
  const sorted = [...list];
  const inOrder = found.toSorted((a, b) => a.place - b.place);
  for (const [i, { at }] of found.entries()) sorted[at] = inOrder[i]!.one;
  return sorted;
}

function isCallMessage(message: unknown): readonly unknown[] {
  const { tool_calls: calls } = asJson(message);
  return Array.isArray(calls) ? calls.map((call) => asJson(call).id) : [];
}

function isToolMessage(message: unknown): boolean {
  return asJson(message).role === "tool";
}

function isCallItem(item: unknown): readonly unknown[] {
  const { type, call_id: id } = asJson(item);
  return type === "function_call" || type === "custom_tool_call" ? [id] : [];
}

function isResultItem(item: unknown): boolean {
  const { type } = asJson(item);
  return type === "function_call_output" || type === "custom_tool_call_output";
}

function asJson(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
