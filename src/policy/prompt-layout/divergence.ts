/** Where two prompts part, why, and what it costs: the first difference in render order, since all behind it misses the cache. */
import { type LayoutPart, type PromptLayout, tokensOf } from "./prompt-layout.ts";
import { volatileAt } from "./volatile-text.ts";

export type MissCause =
  | "model_changed"
  | "settings_changed"
  | "tools_reordered"
  | "tools_added"
  | "tools_removed"
  | "tool_changed"
  /** The same values, another order of keys. */
  | "key_order"
  | "time_stamp"
  | "random_id"
  | "system_changed"
  | "results_reordered"
  /** An earlier message is not what it was. */
  | "history_changed"
  /** Messages are missing: the conversation was cut or summed up. */
  | "history_cut";

export interface Divergence {
  readonly cause: MissCause;
  /** Of the part, in the newer body; in the older one for what is gone. */
  readonly path: string;
  /**
   * Byte within the part's text (UTF-8) where the difference begins: of a time or an id, where that begins. null if the
   * text was not kept.
   */
  readonly byte: number | null;
  /** Of the older prompt behind it, about: what could have come from the cache and did not. */
  readonly missedTokens: number;
  /** Of the prompt before it, about. */
  readonly keptTokens: number;
}

/**
 * @param before an earlier request of the same conversation.
 * @param after the next one.
 * @returns null if `after` goes on where `before` ends, or differs from it in its last message alone: that is what a
 *   conversation does.
 */
export function divergenceOf(before: PromptLayout, after: PromptLayout): Divergence | null {
  const old = before.parts;
  const now = after.parts;
  let at = 0;
  while (at < old.length && at < now.length && isSame(old[at]!, now[at]!)) at += 1;
  if (at === old.length) return null;
  const one = old[at]!;
  const other = now[at];
  const isLast = isTail(old, at) && (other === undefined || isTail(now, at));
  // Results that change places are the caller's doing even there.
  if (isLast && !(other !== undefined && isSwapped(before, after, at))) return null;
  const cause = causeOf(before, after, at);
  const isGone = other === undefined || other.kind !== one.kind;
  return {
    cause,
    path: isGone ? one.path : other.path,
    byte: isGone ? null : byteOf(one, other, cause),
    missedTokens: tokensOf(charsIn(old.slice(at))),
    keptTokens: tokensOf(charsIn(old.slice(0, at))),
  };
}

/** @returns tokens, about, of what `after` shares with `before`: what a cache that holds `before` can serve. */
export function sharedTokens(before: PromptLayout, after: PromptLayout): number {
  let chars = 0;
  for (const [at, part] of before.parts.entries()) {
    const other = after.parts[at];
    if (other === undefined || !isSame(part, other)) break;
    if (part.kind !== "setting") chars += part.chars;
  }
  return tokensOf(chars);
}

function isSame(a: LayoutPart, b: LayoutPart): boolean {
  return a.kind === b.kind && a.hash === b.hash && a.chars === b.chars;
}

/** All from here on is one message, the last one. */
function isTail(parts: readonly LayoutPart[], at: number): boolean {
  const first = parts[at]!;
  if (first.kind !== "message") return false;
  const message = messageOf(first.path);
  return parts.slice(at).every(({ path }) => messageOf(path) === message);
}

function messageOf(path: string): string {
  return /^\w+(?:\[\d+\])?/.exec(path)![0];
}

function charsIn(parts: readonly LayoutPart[]): number {
  let chars = 0;
  for (const part of parts) if (part.kind !== "setting") chars += part.chars;
  return chars;
}

function causeOf(before: PromptLayout, after: PromptLayout, at: number): MissCause {
  const one = before.parts[at]!;
  const other = after.parts[at];
  const kind = earlier(one, other);
  if (kind === "setting") {
    return one.path === "model" && other?.path === "model" ? "model_changed" : "settings_changed";
  }
  const isPair = other !== undefined && one.kind === other.kind;
  if (kind === "tool") return toolCause(before, after, isPair && one.name === other.name, at);
  if (isPair && one.sortedHash === other.sortedHash) return "key_order";
  if (isPair && isSwapped(before, after, at)) return "results_reordered";
  const volatile = isPair ? volatileIn(one, other) : null;
  if (volatile !== null) return volatile;
  if (kind === "system") return "system_changed";
  const isShorter = after.parts.length < before.parts.length;
  const isLater =
    other !== undefined && before.parts.slice(at + 1).some((part) => isSame(part, other));
  return other === undefined || isLater || isShorter ? "history_cut" : "history_changed";
}

const ORDER = ["setting", "tool", "system", "message"] as const;

/** The kind at which the two part: of one that has nothing more of a kind, the kind that it lacks. */
function earlier(one: LayoutPart, other: LayoutPart | undefined): LayoutPart["kind"] {
  if (other === undefined) return one.kind;
  return ORDER.indexOf(one.kind) <= ORDER.indexOf(other.kind) ? one.kind : other.kind;
}

function toolCause(
  before: PromptLayout,
  after: PromptLayout,
  isSameTool: boolean,
  at: number,
): MissCause {
  const old = namesOf(before);
  const now = namesOf(after);
  if (old.length === now.length && isSameSet(old, now) && !isSameTool) return "tools_reordered";
  if (isSameTool) {
    const [one, other] = [before.parts[at]!, after.parts[at]!];
    if (one.sortedHash === other.sortedHash) return "key_order";
    return volatileIn(one, other) ?? "tool_changed";
  }
  const [oldNames, newNames] = [new Set(old), new Set(now)];
  const added = now.filter((name) => !oldNames.has(name)).length;
  const removed = old.filter((name) => !newNames.has(name)).length;
  if (added > 0 && removed === 0) return "tools_added";
  return removed > 0 && added === 0 ? "tools_removed" : "tool_changed";
}

function namesOf({ parts }: PromptLayout): string[] {
  return parts.filter(({ kind }) => kind === "tool").map(({ name }) => name);
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const [first, second] = [[...a].sort(), [...b].sort()];
  return first.every((name, i) => name === second[i]);
}

/** Results of the same calls, in another order. */
function isSwapped(before: PromptLayout, after: PromptLayout, at: number): boolean {
  const other = after.parts[at]!;
  if (other.name === "" || before.parts[at]!.name === "") return false;
  return before.parts.slice(at + 1).some((part) => {
    return part.name === other.name && part.sortedHash === other.sortedHash;
  });
}

function volatileIn(one: LayoutPart, other: LayoutPart): "time_stamp" | "random_id" | null {
  if (one.text === null || other.text === null) return null;
  return volatileAt(one.text, other.text)?.cause ?? null;
}

function byteOf(one: LayoutPart, other: LayoutPart, cause: MissCause): number | null {
  if (one.text === null || other.text === null) return null;
  const isVolatile = cause === "time_stamp" || cause === "random_id";
  const found = isVolatile ? volatileAt(one.text, other.text) : null;
  return bytesIn(other.text, found?.at ?? firstDifference(one.text, other.text));
}

function firstDifference(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}

/** @returns UTF-8 bytes of the first `chars` units. */
function bytesIn(text: string, chars: number): number {
  let bytes = 0;
  for (let i = 0; i < chars; i += 1) {
    const unit = text.charCodeAt(i);
    // Each half of a surrogate pair is two of its four bytes.
    const isHalf = unit >= 0xd800 && unit <= 0xdfff;
    bytes += unit < 0x80 ? 1 : unit < 0x800 || isHalf ? 2 : 3;
  }
  return bytes;
}
