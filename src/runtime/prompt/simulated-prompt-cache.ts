/**
 * A provider's prompt cache in memory: marks, look-back, minimum, lifetime and price as `providerCacheRules` has them, so
 * that a layout can be tried without a provider. It counts tokens as all of this folder does, a quarter of the characters.
 *
 *     Anthropic   an entry for each mark; read from the furthest entry at most 20 blocks before a mark; refreshed when read
 *     OpenAI      an entry for each step of 128 tokens from 1,024; of GPT-5.6 and later for each block's end
 */
import type { Clock } from "../../clock/index.ts";
import { assert, ManxError } from "../../core/index.ts";
import {
  type CacheFormat,
  type ProviderCacheRules,
  promptFacts,
  providerCacheRules,
  textHash,
  tokensOf,
} from "../../policy/index.ts";
import { anthropicBlocks, openAiBlocks, type PromptBlock } from "./prompt-blocks.ts";
import { anthropicMiss, openAiMiss } from "./simulated-miss.ts";

type Json = Readonly<Record<string, unknown>>;

export interface SimulatedUsage {
  /** Neither read nor written. */
  readonly inputTokens: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
}

export interface SimulatedAnswer {
  readonly usage: SimulatedUsage;
  /** Against `previous`, if one was given; null if there is no difference. */
  readonly missReason: string | null;
}

export interface SimulatedCacheOptions {
  readonly clock: Clock;
  /** The longest unused are forgotten. Default 100,000. */
  readonly entriesMax?: number;
  /** Shortest prefix that is kept, in place of the model's. */
  readonly minimumTokens?: number;
}

interface Entry {
  readonly lifetimeUs: number;
  untilUs: number;
}

/** The end of a prefix: what it holds, as a name, and how long it is. */
interface Boundary {
  readonly key: string;
  readonly tokens: number;
  readonly ttl: string | null;
}

export class SimulatedPromptCache {
  readonly #clock: Clock;
  readonly #entriesMax: number;
  readonly #minimumTokens: number | null;
  /** Oldest use first. */
  readonly #entries = new Map<string, Entry>();

  constructor({ clock, entriesMax = 100_000, minimumTokens }: SimulatedCacheOptions) {
    assert(entriesMax >= 1, "a cache has room");
    this.#clock = clock;
    this.#entriesMax = entriesMax;
    this.#minimumTokens = minimumTokens ?? null;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /**
   * @param previous of the same conversation, to be told why this one missed.
   * @throws MANX_REQUEST_INVALID for what the provider refuses: too many marks, a longer lifetime behind a shorter one.
   */
  ask(body: Json, previous?: Json): SimulatedAnswer {
    const facts = promptFacts(body);
    if (facts === null) {
      throw new ManxError("MANX_REQUEST_INVALID", { where: "body", expected: "messages or input" });
    }
    const known = providerCacheRules(facts.format, facts.model);
    const rules = { ...known, minimumTokens: this.#minimumTokens ?? known.minimumTokens ?? 0 };
    const usage = rules.needsMarks ? this.#marked(body, rules) : this.#unmarked(body, rules);
    return {
      usage,
      missReason: previous === undefined ? null : missOf(facts.format, previous, body),
    };
  }

  #marked(body: Json, rules: KnownRules): SimulatedUsage {
    const blocks = anthropicBlocks(body);
    checkMarks(blocks, rules);
    const ends = boundaries(blocks, scopeOf(body));
    const marks = ends.flatMap(({ ttl }, at) => (ttl === null ? [] : [at]));
    const all = ends.at(-1)?.tokens ?? 0;
    const furthest = marks.at(-1);
    if (furthest === undefined) return { inputTokens: all, readTokens: 0, writtenTokens: 0 };
    let readTokens = 0;
    for (const mark of marks) {
      const from = Math.max(0, mark - (rules.lookBackBlocks ?? mark));
      const hit = ends.slice(from, mark + 1).findLast(({ key }) => this.#read(key));
      readTokens = Math.max(readTokens, hit?.tokens ?? 0);
    }
    for (const mark of marks) this.#write(ends[mark]!, rules);
    const end = ends[furthest]!.tokens;
    const kept = end < rules.minimumTokens ? 0 : Math.max(0, end - readTokens);
    return { inputTokens: all - readTokens - kept, readTokens, writtenTokens: kept };
  }

  #unmarked(body: Json, rules: KnownRules): SimulatedUsage {
    const blocks = openAiBlocks(body);
    const scope = scopeOf(body);
    const ends = rules.stepTokens > 1 ? steps(blocks, scope, rules) : boundaries(blocks, scope);
    const all = tokensOf(blocks.reduce((sum, { text }) => sum + text.length, 0));
    const long = ends.filter(({ tokens }) => tokens >= rules.minimumTokens);
    const hit = long.findLast(({ key }) => this.#read(key));
    const readTokens = hit?.tokens ?? 0;
    for (const end of long) this.#write(end, rules);
    const isPriced = rules.lifetimes[0].writeFactor > 1;
    const writtenTokens = isPriced ? (long.at(-1)?.tokens ?? readTokens) - readTokens : 0;
    return { inputTokens: all - readTokens - writtenTokens, readTokens, writtenTokens };
  }

  /** @returns whether it is there; if it is, it lives on for as long again. */
  #read(key: string): boolean {
    const entry = this.#entries.get(key);
    const nowUs = this.#clock.nowUs();
    if (entry === undefined || entry.untilUs <= nowUs) return false;
    entry.untilUs = nowUs + entry.lifetimeUs;
    return true;
  }

  #write({ key, tokens, ttl }: Boundary, rules: KnownRules): void {
    if (tokens < rules.minimumTokens) return;
    const { lifetimes } = rules;
    const { lifetimeUs } = lifetimes.find(({ name }) => name === ttl) ?? lifetimes[0];
    this.#entries.delete(key);
    this.#entries.set(key, { lifetimeUs, untilUs: this.#clock.nowUs() + lifetimeUs });
    if (this.#entries.size <= this.#entriesMax) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }
}

type KnownRules = ProviderCacheRules & { readonly minimumTokens: number };

/** What makes another cache of the same text: for all of it, and for the messages alone. */
interface Scope {
  readonly all: string;
  readonly messages: string;
}

function scopeOf(body: Json): Scope {
  const { model, speed, prompt_cache_key: key, tool_choice: choice, thinking } = body;
  return { all: JSON.stringify([model, speed, key]), messages: JSON.stringify([choice, thinking]) };
}

/** Each block's end, named by all up to there. */
function boundaries(blocks: readonly PromptBlock[], scope: Scope): Boundary[] {
  let key = scope.all;
  let chars = 0;
  let isInMessages = false;
  return blocks.map(({ level, text, ttl }) => {
    if (level === "messages" && !isInMessages) key += scope.messages;
    isInMessages ||= level === "messages";
    chars += text.length;
    key = `${textHash(`${key} ${level} ${text.length} ${text}`)}`;
    return { key, tokens: tokensOf(chars), ttl };
  });
}

const CHARS_PER_TOKEN = 4;

function steps(blocks: readonly PromptBlock[], scope: Scope, rules: KnownRules): Boundary[] {
  const text = blocks.map((block) => block.text).join("");
  const chars = rules.stepTokens * CHARS_PER_TOKEN;
  const ends: Boundary[] = [];
  let key = scope.all;
  for (let end = chars; end <= text.length; end += chars) {
    key = `${textHash(`${key} ${text.slice(end - chars, end)}`)}`;
    ends.push({ key, tokens: end / CHARS_PER_TOKEN, ttl: null });
  }
  return ends;
}

function checkMarks(blocks: readonly PromptBlock[], { marksMax, lifetimes }: KnownRules): void {
  const marks = blocks.flatMap(({ ttl }) => (ttl === null ? [] : [ttl]));
  const refuse = (expected: string, got: string): never => {
    throw new ManxError("MANX_REQUEST_INVALID", { where: "cache_control", expected, got });
  };
  if (marks.length > marksMax) refuse(`at most ${marksMax} marks`, `${marks.length}`);
  const names = lifetimes.map(({ name }) => name as string);
  let rank = names.length;
  for (const ttl of marks) {
    const own = names.indexOf(ttl);
    if (own < 0) refuse(`one of ${names.join(", ")}`, ttl);
    if (own > rank) refuse("no longer lifetime behind a shorter one", ttl);
    rank = own;
  }
}

function missOf(format: CacheFormat, before: Json, after: Json): string | null {
  return format === "anthropic-messages" ? anthropicMiss(before, after) : openAiMiss(before, after);
}
