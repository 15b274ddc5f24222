/**
 * Parts as the body of a request: tools, system and documents that stay, what was said, and last all that is new. Marks stand
 * where a later request can read: at the end of what everybody shares, of what the session shares, and of the two last
 * messages of the caller.
 */
import type { CacheFormat, LifetimeName } from "../../policy/index.ts";
import { type DeclaredTool, declaredTool } from "./declared-tool.ts";
import {
  nameOf,
  type PromptMessage,
  type PromptPart,
  type Stability,
  stabilityOf,
  stableFirst,
  textOf,
} from "./prompt-part.ts";

type Json = Record<string, unknown>;

/** Where a mark may stand, in render order: the body with it in place. */
export interface MarkPlace {
  /** Of the block that it stands on. */
  readonly path: string;
  readonly lifetime: LifetimeName;
}

export interface WrittenPrompt {
  readonly tools: readonly DeclaredTool[];
  /** One text each for static and session; those that are empty are left out. */
  readonly system: readonly { readonly text: string; readonly stability: Stability }[];
  readonly messages: readonly PromptMessage[];
  /** The last message is new in each request, and gone in the next: documents of this turn alone. */
  readonly isLastPassing: boolean;
}

const BETWEEN = "\n\n";

export function arrange(parts: readonly PromptPart[]): WrittenPrompt {
  const tools = stableFirst(parts.filter((part) => part.kind === "tools"));
  const texts = parts.filter((part) => part.kind === "system" || part.kind === "documents");
  // Instructions before what they speak of, within one stability.
  const ordered = stableFirst([
    ...texts.filter(({ kind }) => kind === "system"),
    ...texts.filter(({ kind }) => kind === "documents"),
  ]);
  const of = (stability: Stability): string =>
    ordered
      .filter((part) => stabilityOf(part) === stability)
      .map(textOf)
      .filter((text) => text.trim() !== "")
      .join(BETWEEN);
  const system = (["static", "session"] as const).flatMap((stability) => {
    const text = of(stability);
    return text === "" ? [] : [{ text, stability }];
  });
  const passing = of("turn");
  const input = parts.find((part) => part.kind === "input")?.text ?? "";
  const last = [passing, input].filter((text) => text !== "");
  return {
    tools: tools.flatMap(sortedTools),
    system,
    messages: [
      ...parts.flatMap((part) => (part.kind === "history" ? part.messages : [])),
      ...(last.length > 0 ? [{ role: "user", content: last.join(BETWEEN) }] : []),
    ],
    isLastPassing: passing !== "",
  };
}

function sortedTools(part: PromptPart & { readonly kind: "tools" }): DeclaredTool[] {
  const tools = part.tools.map((tool, i) => declaredTool(tool, `${nameOf(part)}[${i}]`));
  return tools.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** @returns what of the body is prompt, without marks. */
export function writePrompt(format: CacheFormat, prompt: WrittenPrompt): Json {
  const tools = prompt.tools.map((tool) => tool.write(format));
  const texts = prompt.system.map(({ text }) => text);
  const system = texts.join(BETWEEN);
  const some = tools.length > 0 ? { tools } : {};
  if (format === "anthropic-messages") {
    const blocks = texts.map((text) => ({ type: "text", text }));
    return { ...some, ...(blocks.length > 0 && { system: blocks }), messages: prompt.messages };
  }
  if (format === "openai-responses") {
    return { ...some, ...(system !== "" && { instructions: system }), input: prompt.messages };
  }
  const first = system === "" ? [] : [{ role: "system", content: system }];
  return { ...some, messages: [...first, ...prompt.messages] };
}

/** Lifetimes by stability; the conversation's own are the session's. */
export type Lifetimes = Readonly<Record<"static" | "session", LifetimeName>>;

/** Where Anthropic is to keep the prompt, first to last; at most four. */
export function markPlaces(prompt: WrittenPrompt, lifetimes: Lifetimes): MarkPlace[] {
  const places: MarkPlace[] = [];
  if (prompt.system.length === 0 && prompt.tools.length > 0) {
    places.push({ path: `tools[${prompt.tools.length - 1}]`, lifetime: lifetimes.static });
  }
  for (const [i, { stability }] of prompt.system.entries()) {
    const lifetime = stability === "static" ? lifetimes.static : lifetimes.session;
    places.push({ path: `system[${i}]`, lifetime });
  }
  const end = prompt.isLastPassing ? prompt.messages.length - 1 : prompt.messages.length;
  const own = prompt.messages
    .slice(0, end)
    .flatMap(({ role }, at) => (role === "user" ? [at] : []))
    .slice(-2);
  return [
    ...places,
    ...own.map((at) => ({ path: `messages[${at}]`, lifetime: lifetimes.session })),
  ];
}
