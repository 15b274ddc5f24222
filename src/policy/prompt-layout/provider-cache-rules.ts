/**
 * What each provider's prompt cache keeps, for how long, and at what price: data with a date, in one place, since no API tells
 * it and it changes with generations of models. From the providers' own pages, read at `asOf`.
 */
import { cacheMinimum } from "./cache-minimum.ts";

/** Formats of requests whose caches are known. */
export type CacheFormat = "openai-chat" | "openai-responses" | "anthropic-messages";

export type LifetimeName = "5m" | "30m" | "1h" | "24h";

export interface CacheLifetime {
  readonly name: LifetimeName;
  readonly lifetimeUs: number;
  /** Price of a token that is written, in tokens that are neither written nor read. */
  readonly writeFactor: number;
}

export interface ProviderCacheRules {
  readonly provider: "anthropic" | "openai";
  readonly asOf: string;
  /** Keeps only what a mark says; else all of a prompt by itself. */
  readonly needsMarks: boolean;
  /** Marks of one request; 0: there are none. */
  readonly marksMax: number;
  /** Blocks before a mark in which an earlier mark's entry is found; null: any number. */
  readonly lookBackBlocks: number | null;
  /** A hit ends at a multiple of this, in tokens; 1: exactly where the two prompts part or where a mark stands. */
  readonly stepTokens: number;
  /** Shorter prefixes are not kept, in silence; null: not known for this model. */
  readonly minimumTokens: number | null;
  /** The first is the default. A longer one has to stand before a shorter one. */
  readonly lifetimes: readonly [CacheLifetime, ...CacheLifetime[]];
  /** Price of a token that is read, in tokens of input; of some models less, as `promptPrice` has it. */
  readonly readFactor: number;
  /** Of one prefix and key before they overflow to other machines; null: no such limit is known. */
  readonly perMinuteMax: number | null;
}

// The oldest date of the pages that it is from.
const AS_OF = "2026-10";
const MINUTE_US = 60_000_000;

const ANTHROPIC = {
  provider: "anthropic",
  asOf: AS_OF,
  needsMarks: true,
  marksMax: 4,
  lookBackBlocks: 20,
  stepTokens: 1,
  lifetimes: [
    { name: "5m", lifetimeUs: 5 * MINUTE_US, writeFactor: 1.25 },
    { name: "1h", lifetimeUs: 60 * MINUTE_US, writeFactor: 2 },
  ],
  readFactor: 0.1,
  perMinuteMax: null,
} as const satisfies Omit<ProviderCacheRules, "minimumTokens">;

/** Up to GPT-5.5. What is read costs a tenth to a half of the input, by model: the dearest, so that nothing is promised. */
const OPENAI: ProviderCacheRules = {
  provider: "openai",
  asOf: AS_OF,
  needsMarks: false,
  marksMax: 0,
  lookBackBlocks: null,
  stepTokens: 128,
  minimumTokens: 1_024,
  lifetimes: [
    { name: "5m", lifetimeUs: 5 * MINUTE_US, writeFactor: 1 },
    { name: "24h", lifetimeUs: 24 * 60 * MINUTE_US, writeFactor: 1 },
  ],
  readFactor: 0.5,
  perMinuteMax: 15,
};

/** From GPT-5.6: writing has a price, and a hit ends exactly. */
const OPENAI_WRITTEN: ProviderCacheRules = {
  ...OPENAI,
  marksMax: 4,
  stepTokens: 1,
  lifetimes: [{ name: "30m", lifetimeUs: 30 * MINUTE_US, writeFactor: 1.25 }],
  readFactor: 0.1,
};

/** @param model as the request names it; one that is not known has its provider's usual rules. */
export function providerCacheRules(format: CacheFormat, model: string): ProviderCacheRules {
  if (format === "anthropic-messages") {
    return { ...ANTHROPIC, minimumTokens: cacheMinimum(model)?.tokens ?? null };
  }
  return hasWritePrice(model) ? OPENAI_WRITTEN : OPENAI;
}

function hasWritePrice(model: string): boolean {
  const version = /gpt-(\d+)(?:\.(\d+))?/i.exec(model);
  if (version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2] ?? 0)];
  return major > 5 || (major === 5 && minor >= 6);
}

/** Whether the provider can say itself why a prompt missed, and so confirm what is predicted here. */
export function tellsMissReasons(format: CacheFormat, model: string): boolean {
  if (format === "anthropic-messages") return true;
  return format === "openai-responses" && hasWritePrice(model);
}
