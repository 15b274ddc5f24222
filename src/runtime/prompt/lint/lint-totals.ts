/** What all requests added up to: shares that a cache served and could have, causes with what they cost, and what was set aside. */
import type { PromptPrice } from "../../../policy/index.ts";
import { BREAK_ADVICE, type BreakCause } from "./break-advice.ts";
import type { MarkProblem } from "./mark-problem.ts";
import type { PrefillFigure } from "./prefill-rate.ts";
import type { PlacedBreak } from "./prompt-linter.ts";
import type { RecordedUsage } from "./recorded-request.ts";

export type PriceOption = Pick<PromptPrice, "inputUsd" | "cachedUsd">;

/** Breaks of one cause at one field. */
export interface BreakGroup {
  readonly cause: BreakCause;
  /** With `*` for the index of a message. */
  readonly field: string;
  readonly breaks: number;
  readonly lostTokens: number;
  readonly lostTtftUs: number;
  /** null where no price is known. */
  readonly lostUsd: number | null;
  /** Of all tokens that were lost, 0 to 1. */
  readonly share: number;
  readonly advice: string;
  /** The first, and those that lost most. */
  readonly examples: readonly PlacedBreak[];
}

export interface LintSummary {
  readonly requests: number;
  readonly conversations: number;
  /** Formats and models of the requests, by count. */
  readonly models: readonly {
    readonly format: string;
    readonly model: string;
    readonly requests: number;
  }[];
  readonly breaks: number;
  /** Of prompts, about. */
  readonly tokens: number;
  /** That a cache could have served, had each prompt gone on where the last one ended. */
  readonly couldTokens: number;
  /** That it could serve as the prompts are. */
  readonly gotTokens: number;
  readonly lostTokens: number;
  readonly lostTtftUs: number;
  readonly lostUsd: number | null;
  /** Requests that came after the provider had let the prefix go, where records have times, and what it held for them. */
  readonly late: { readonly requests: number; readonly tokens: number };
  /** By the providers' own count, where records have it. */
  readonly usage: (RecordedUsage & { readonly requests: number }) | null;
  readonly prefill: PrefillFigure;
  /** Dates of the prices that were used. */
  readonly pricesAsOf: readonly string[];
  /** Of models without a price. */
  readonly unpriced: readonly string[];
  readonly groups: readonly BreakGroup[];
  /** Breaks in groups beyond the bound. */
  readonly otherBreaks: number;
  readonly problems: readonly (MarkProblem & {
    readonly requests: number;
    readonly first: string;
  })[];
  readonly setAside: { readonly records: number; readonly first: readonly string[] };
}

export interface CountedRequest {
  readonly format: string;
  readonly model: string;
  readonly opensConversation: boolean;
  readonly tokens: number;
  readonly couldTokens: number;
  readonly gotTokens: number;
  /** That a cache had served, had the request come before the entry ended; 0 if it did. */
  readonly lateTokens: number;
  readonly usage: RecordedUsage | null;
  readonly price: (PriceOption & { readonly asOf?: string }) | null;
}

const GROUPS_MAX = 1_000;
const MODELS_MAX = 100;
const PROBLEMS_MAX = 200;
const EXAMPLES_MAX = 3;
const ASIDE_SHOWN = 10;

interface OpenGroup {
  readonly cause: BreakCause;
  readonly field: string;
  breaks: number;
  lostTokens: number;
  lostUsd: number | null;
  readonly examples: PlacedBreak[];
}

export class LintTotals {
  #requests = 0;
  #conversations = 0;
  #tokens = 0;
  #couldTokens = 0;
  #gotTokens = 0;
  readonly #models = new Map<string, { format: string; model: string; requests: number }>();
  readonly #late = { requests: 0, tokens: 0 };
  readonly #usage = { requests: 0, promptTokens: 0, cachedTokens: 0 };
  readonly #prices = new Set<string>();
  readonly #unpriced = new Set<string>();
  readonly #groups = new Map<string, OpenGroup>();
  #otherBreaks = 0;
  #otherTokens = 0;
  readonly #problems = new Map<string, MarkProblem & { requests: number; first: string }>();
  #aside = 0;
  readonly #asideFirst: string[] = [];

  request(one: CountedRequest): void {
    this.#requests += 1;
    if (one.opensConversation) this.#conversations += 1;
    this.#tokens += one.tokens;
    this.#couldTokens += one.couldTokens;
    this.#gotTokens += one.gotTokens;
    const key = `${one.format} ${one.model}`;
    const model = this.#models.get(key) ?? { format: one.format, model: one.model, requests: 0 };
    model.requests += 1;
    if (this.#models.size < MODELS_MAX) this.#models.set(key, model);
    if (one.price === null) {
      if (this.#unpriced.size < MODELS_MAX) this.#unpriced.add(one.model);
    } else this.#prices.add(one.price.asOf ?? "given");
    if (one.lateTokens > 0) {
      this.#late.requests += 1;
      this.#late.tokens += one.lateTokens;
    }
    if (one.usage === null) return;
    this.#usage.requests += 1;
    this.#usage.promptTokens += one.usage.promptTokens;
    this.#usage.cachedTokens += one.usage.cachedTokens;
  }

  found(one: PlacedBreak): void {
    const field = one.field.replace(/^(messages|input)\[\d+\]/, "$1[*]");
    const key = `${one.cause} ${field}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size >= GROUPS_MAX) {
        this.#otherBreaks += 1;
        this.#otherTokens += one.lostTokens;
        return;
      }
      group = { cause: one.cause, field, breaks: 0, lostTokens: 0, lostUsd: 0, examples: [] };
      this.#groups.set(key, group);
    }
    group.breaks += 1;
    group.lostTokens += one.lostTokens;
    group.lostUsd =
      group.lostUsd === null || one.lostUsd === null ? null : group.lostUsd + one.lostUsd;
    keepExample(group.examples, one);
  }

  problem(problem: MarkProblem, where: string): void {
    // One of a kind for a model: the tokens that it names differ from request to request.
    const key = `${problem.kind} ${problem.text.replace(/about \d+/, "")}`;
    const known = this.#problems.get(key);
    if (known !== undefined) known.requests += 1;
    else if (this.#problems.size < PROBLEMS_MAX) {
      this.#problems.set(key, { ...problem, requests: 1, first: where });
    }
  }

  setAside(where: string, reason: string): void {
    this.#aside += 1;
    if (this.#asideFirst.length < ASIDE_SHOWN) this.#asideFirst.push(`${where}: ${reason}`);
  }

  summary(prefill: PrefillFigure): LintSummary {
    const groups = [...this.#groups.values()].sort((a, b) => b.lostTokens - a.lostTokens);
    const sum = (of: (group: OpenGroup) => number): number =>
      groups.reduce((total, group) => total + of(group), 0);
    const lostTokens = sum((group) => group.lostTokens) + this.#otherTokens;
    const priced = groups.filter(({ lostUsd }) => lostUsd !== null);
    const toUs = (tokens: number): number => Math.round((tokens / prefill.tokensPerS) * 1_000_000);
    return {
      requests: this.#requests,
      conversations: this.#conversations,
      models: [...this.#models.values()].sort((a, b) => b.requests - a.requests),
      breaks: sum((group) => group.breaks) + this.#otherBreaks,
      tokens: this.#tokens,
      couldTokens: this.#couldTokens,
      gotTokens: this.#gotTokens,
      lostTokens,
      lostTtftUs: toUs(lostTokens),
      lostUsd: priced.length === 0 && groups.length > 0 ? null : sum((group) => group.lostUsd ?? 0),
      late: { ...this.#late },
      usage: this.#usage.requests === 0 ? null : { ...this.#usage },
      prefill,
      pricesAsOf: [...this.#prices],
      unpriced: [...this.#unpriced],
      groups: groups.map((group) => ({
        ...group,
        lostTtftUs: toUs(group.lostTokens),
        share: lostTokens === 0 ? 0 : group.lostTokens / lostTokens,
        advice: BREAK_ADVICE[group.cause],
      })),
      otherBreaks: this.#otherBreaks,
      problems: [...this.#problems.values()],
      setAside: { records: this.#aside, first: this.#asideFirst },
    };
  }
}

/** The first stays, since it is the easiest to follow; of the others those that lost most. */
function keepExample(examples: PlacedBreak[], one: PlacedBreak): void {
  if (examples.length < EXAMPLES_MAX) {
    examples.push(one);
    return;
  }
  const [, ...rest] = examples;
  const least = rest.reduce((a, b) => (b.lostTokens < a.lostTokens ? b : a));
  if (one.lostTokens > least.lostTokens) examples[examples.indexOf(least)] = one;
}
