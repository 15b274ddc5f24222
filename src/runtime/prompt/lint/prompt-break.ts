/** One place where a prompt parts from the one before it: the byte, the field, the cause, and what the cache could have served. */
import {
  type ComparedPrompt,
  divergenceOf,
  type LayoutPart,
  type MissReason,
  missReason,
  type PartKind,
  type PromptLayout,
} from "../../../policy/index.ts";
import { volatileAt } from "../../../policy/prompt-layout/volatile-text.ts";
import { partTokens } from "../part-tokens.ts";
import { utf8Bytes } from "../utf8-bytes.ts";
import type { BreakCause } from "./break-advice.ts";
import { countOf, shapeOf, shownText } from "./culprit-text.ts";
import { type FieldDifference, fieldDifference, sharedChars } from "./field-difference.ts";
import { type JsonPath, pathText, stepsOf } from "./json-place.ts";

export interface PromptBreak {
  readonly cause: BreakCause;
  /** Part of the body, such as `system[0]` or `tools[3]`. */
  readonly part: string;
  /** The field in it that differs, from the body's root, such as `tools[3].description`. */
  readonly field: string;
  /** In the older body: what is gone, and is no longer in the newer one. */
  readonly isGone: boolean;
  /** UTF-8 byte within the part's text; null if the text was too long to be kept. */
  readonly byteInPart: number | null;
  /** The same from the beginning of the prompt: tools, system, messages, each part's text behind the one before. */
  readonly byteInPrompt: number | null;
  /** Before and after, by shape unless texts may be shown. */
  readonly culprit: string;
  /** What the provider says if it is asked; null if it would see no difference. */
  readonly providerReason: MissReason | null;
  /** About: of the older prompt, still there in length, that stand behind it. */
  readonly lostTokens: number;
  readonly keptTokens: number;
}

/** A break with the characters at which its field differs, for its place in the file. */
export interface FoundBreak extends PromptBreak {
  readonly path: JsonPath;
  readonly at: number;
}

/**
 * @param before of the same conversation, or of the same agent: then `isOther`, and messages are not compared.
 * @returns null if the later prompt reads all that the earlier one left.
 */
export function breakBetween(
  before: ComparedPrompt,
  after: ComparedPrompt,
  { isOther, showText }: { readonly isOther: boolean; readonly showText: boolean },
): FoundBreak | null {
  const [old, now] = isOther ? [withoutMessages(before), withoutMessages(after)] : [before, after];
  const divergence = divergenceOf(old.layout, now.layout);
  const providerReason = missReason(old, now);
  if (divergence === null) return isOther ? null : settingBreak(old, now, providerReason);
  const at = firstDifferent(old.layout, now.layout);
  if (isPassing(old.layout, at)) return null;
  const [one, other] = [old.layout.parts[at], now.layout.parts[at]];
  const isGone = isMissing(one, other);
  const place = (isGone ? one : other)!;
  const found = fieldOf(one, other, isGone, divergence.cause);
  const kept = keptTokens(old, divergence.cause, at);
  const behind = Math.min(tokensIn(old.layout, at), tokensIn(now.layout, at));
  const byte = byteInPart(one, other, divergence.byte);
  const beforeBytes = bytesBefore(now.layout, at);
  return {
    cause: divergence.cause,
    part: place.path,
    field: pathText([...stepsOf(place.path), ...found.path]),
    path: found.path,
    at: found.at,
    isGone,
    byteInPart: byte,
    byteInPrompt: byte === null || beforeBytes === null ? null : beforeBytes + byte,
    culprit: culpritOf(divergence.cause, found, one, other, showText),
    providerReason,
    lostTokens: Math.max(0, behind - Math.max(0, kept - divergence.keptTokens)),
    keptTokens: kept,
  };
}

function withoutMessages({ facts, layout }: ComparedPrompt): ComparedPrompt {
  return { facts, layout: { parts: layout.parts.filter(({ kind }) => kind !== "message") } };
}

function firstDifferent(before: PromptLayout, after: PromptLayout): number {
  let at = 0;
  for (; at < before.parts.length; at += 1) {
    const [one, other] = [before.parts[at]!, after.parts[at]];
    if (one.kind !== other?.kind || one.hash !== other.hash || one.chars !== other.chars) break;
  }
  return at;
}

/** A last message that was meant for its own turn (the time, what was looked up) and is short: what is lost is nothing else. */
const PASSING_SHARE = 0.05;

function isPassing(before: PromptLayout, at: number): boolean {
  const first = before.parts[at];
  if (first?.kind !== "message") return false;
  const message = /^\w+\[\d+\]/.exec(first.path)?.[0] ?? first.path;
  const isLast = before.parts.at(-1)!.path.startsWith(message);
  // Results that change places are no passing matter.
  return isLast && first.name === "" && tokensIn(before, at) < tokensIn(before, 0) * PASSING_SHARE;
}

const KINDS: readonly PartKind[] = ["setting", "tool", "system", "message"];

/** Whether it is the older prompt that has something here which the newer one lacks, and not the other way round. */
function isMissing(one: LayoutPart | undefined, other: LayoutPart | undefined): boolean {
  if (other === undefined || one === undefined) return other === undefined;
  return KINDS.indexOf(one.kind) < KINDS.indexOf(other.kind);
}

const SETTING_SHOWN = 60;
const NOWHERE: FieldDifference = { path: [], at: 0, before: undefined, after: undefined };
/** Where the part itself came, went or moved, no field of it is to blame. */
const WHOLE: ReadonlySet<BreakCause> = new Set([
  "tools_added",
  "tools_removed",
  "tools_reordered",
  "results_reordered",
  "history_cut",
]);

function fieldOf(
  one: LayoutPart | undefined,
  other: LayoutPart | undefined,
  isGone: boolean,
  cause: BreakCause,
): FieldDifference {
  if (one === undefined || other === undefined || isGone || WHOLE.has(cause)) return NOWHERE;
  if (one.kind !== other.kind) return NOWHERE;
  if (one.kind === "setting" && one.path !== other.path) return NOWHERE;
  const found = fieldDifference(one, other) ?? NOWHERE;
  if (typeof found.before !== "string" || typeof found.after !== "string") return found;
  if (cause !== "time_stamp" && cause !== "random_id") return found;
  return { ...found, at: volatileAt(found.before, found.after)?.at ?? found.at };
}

/** Within the part as it is rendered: of a text its own, of anything else its JSON. Where a part came or went, its first. */
function byteInPart(
  one: LayoutPart | undefined,
  other: LayoutPart | undefined,
  known: number | null,
): number | null {
  if (known !== null) return known;
  if (one === undefined || other === undefined || one.kind !== other.kind) return 0;
  if (one.text === null || other.text === null) return null;
  return utf8Bytes(other.text, sharedChars(one.text, other.text));
}

function bytesBefore({ parts }: PromptLayout, at: number): number | null {
  let bytes = 0;
  for (const { kind, text } of parts.slice(0, at)) {
    if (kind === "setting") continue;
    if (text === null) return null;
    bytes += utf8Bytes(text);
  }
  return bytes;
}

function tokensIn({ parts }: PromptLayout, from: number): number {
  return partTokens(parts.slice(from));
}

/** Anthropic keeps tools and system when thinking changes; all else behind the first difference is gone. */
function keptTokens({ facts, layout }: ComparedPrompt, cause: BreakCause, at: number): number {
  const { parts } = layout;
  const isMessagesOnly =
    cause === "settings_changed" && facts.format === "anthropic-messages" && parts[0] !== undefined;
  const kept = isMessagesOnly
    ? parts.filter(({ kind }) => kind === "tool" || kind === "system")
    : parts.slice(0, at);
  return partTokens(kept);
}

const SETTING_CAUSES: readonly (readonly [path: string, cause: BreakCause])[] = [
  ["prompt_cache_key", "cache_key_changed"],
  ["text.format", "settings_changed"],
  ["response_format", "settings_changed"],
  ["text.verbosity", "settings_changed"],
  ["verbosity", "settings_changed"],
  ["service_tier", "settings_changed"],
  ["speed", "settings_changed"],
  ["tool_choice", "settings_changed"],
];

/** The same text, but another cache: what no part of the prompt shows. */
function settingBreak(
  before: ComparedPrompt,
  after: ComparedPrompt,
  providerReason: MissReason | null,
): FoundBreak | null {
  const [old, now] = [before.facts.settings, after.facts.settings];
  const isAnthropic = after.facts.format === "anthropic-messages";
  const changed = SETTING_CAUSES.find(([path]) => {
    // Only Anthropic renders it before the messages.
    return old.get(path) !== now.get(path) && (path !== "tool_choice" || isAnthropic);
  });
  if (changed === undefined) return null;
  const [path, cause] = changed;
  const kept = path === "tool_choice" ? keptTokens(before, "settings_changed", 0) : 0;
  return {
    cause,
    part: path,
    field: path,
    path: [],
    at: 0,
    isGone: !now.has(path),
    byteInPart: 0,
    byteInPrompt: 0,
    culprit: `${path} ${old.has(path) ? (now.has(path) ? "changed" : "is gone") : "is new"}`,
    providerReason,
    lostTokens: Math.max(0, tokensIn(before.layout, 0) - kept),
    keptTokens: kept,
  };
}

function culpritOf(
  cause: BreakCause,
  found: FieldDifference,
  one: LayoutPart | undefined,
  other: LayoutPart | undefined,
  showText: boolean,
): string {
  if (cause === "tools_added") return `${other?.name ?? ""} is new`;
  if (cause === "tools_removed") return `${one?.name ?? ""} is gone`;
  if (cause === "tools_reordered") return `${one?.name ?? ""} → ${other?.name ?? ""}`;
  if (cause === "key_order") return `${String(found.before)} → ${String(found.after)}`;
  if (other?.kind === "setting" || one?.kind === "setting") return settingText(one, other);
  const texts = {
    before: textOf(found.before ?? one?.text),
    after: textOf(found.after ?? other?.text),
  };
  if (showText) return shownText(texts, found.at);
  if (cause === "time_stamp" || cause === "random_id") return shapeOf(texts, found.at);
  return `${countOf(texts.before)} → ${countOf(texts.after)}`;
}

/** Names of models and of efforts: nobody's words. */
function settingText(one: LayoutPart | undefined, other: LayoutPart | undefined): string {
  const of = (part: LayoutPart | undefined): string =>
    part?.kind === "setting" ? (part.text ?? "").slice(0, SETTING_SHOWN) : "nothing";
  return `${of(one)} → ${of(other)}`;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
