/**
 * One check of what the user asks or of what the model answers: any function of a text. How long it may take, and what it
 * means if it cannot answer, stands beside it and is kept by the guard, so the function need not care.
 */
import { ManxError } from "../../core/index.ts";
import type { GuardStage, Verdict } from "../../policy/guard/index.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";

/** What a rail may say of itself besides its verdict. */
export interface RailAnswer {
  readonly verdict: Verdict;
  readonly parts?: RailParts;
}

/** Where the time of one check went, in µs, as far as the rail knows. */
export interface RailParts {
  readonly networkUs?: number;
  readonly queueUs?: number;
  readonly loadUs?: number;
  readonly decodeUs?: number;
}

export interface RailContext {
  /** Aborts when nobody waits for the verdict any more, or when the budget is spent. */
  readonly signal: AbortSignal;
  readonly stage: GuardStage;
}

/**
 * What it throws, and an answer that is no verdict, is a check that has failed. (A `string` in the promise, since TypeScript takes
 * what an async function returns for one; what is none of the four words is no verdict.)
 */
export type RailCheck = (
  text: string,
  context: RailContext,
) => Verdict | RailAnswer | Promise<string | RailAnswer>;

export interface RailOptions {
  /** Differs from all others of a list. */
  readonly name: string;
  /** Default `output`. */
  readonly stage?: GuardStage;
  /** For one check; then it has failed. Default 300 ms. */
  readonly budget?: TimeSpan;
  /** What a check that has failed means: `closed` (default) refuses, `open` lets it pass. */
  readonly onFailure?: "open" | "closed";
  /** `unsure`: asked only where a rail before it could not tell. Default `always`. */
  readonly when?: "always" | "unsure";
}

export interface Rail {
  readonly name: string;
  readonly stage: GuardStage;
  readonly budgetUs: number;
  readonly onFailure: "open" | "closed";
  readonly when: "always" | "unsure";
  readonly check: RailCheck;
}

const BUDGET_US = 300_000;

/** @throws MANX_RAIL_INVALID, MANX_DURATION */
export function rail(options: RailOptions & { readonly check: RailCheck }): Rail {
  const { name, stage = "output", onFailure = "closed", when = "always", check } = options;
  const where = `rail ${JSON.stringify(name)}`;
  if (typeof name !== "string" || name === "") {
    throw new ManxError("MANX_RAIL_INVALID", { what: "a rail without a name" });
  }
  expectOneOf(where, { stage }, ["request", "output"]);
  expectOneOf(where, { onFailure }, ["open", "closed"]);
  expectOneOf(where, { when }, ["always", "unsure"]);
  if (typeof check !== "function") {
    throw new ManxError("MANX_RAIL_INVALID", { what: "a rail that checks nothing", where });
  }
  const budgetUs =
    options.budget === undefined ? BUDGET_US : spanUs(options.budget, `${where}, budget`);
  if (budgetUs === 0) {
    throw new ManxError("MANX_RAIL_INVALID", {
      what: "a budget in which no check can answer",
      where,
      expected: "above 0",
      got: "0",
      hint: "give it time, or leave the rail out",
    });
  }
  return { name, stage, budgetUs, onFailure, when, check };
}

function expectOneOf(
  where: string,
  field: Readonly<Record<string, string>>,
  names: readonly string[],
): void {
  for (const [key, value] of Object.entries(field)) {
    if (names.includes(value)) continue;
    const expected = names.map((name) => `"${name}"`).join(" or ");
    const got = JSON.stringify(value) ?? String(value);
    throw new ManxError("MANX_RAIL_INVALID", { where: `${where}, ${key}`, expected, got });
  }
}
