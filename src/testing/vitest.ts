/**
 * `manx/testing/vitest`: a matcher for budgets. Jest's `expect` takes it as well.
 *
 *     import { budgetMatchers } from "manx/testing/vitest";
 *     expect.extend(budgetMatchers);
 *     expect(turns).toKeepBudget({ e2e: { p95: "4s" }, ttft: { p99: "1.5s" } });
 */

import type {} from "vitest";
import { ManxError } from "../core/index.ts";
import type { TurnRecord } from "../trace/index.ts";
import { checkBudget, checkTimes, type Limits, type TurnBudget } from "./budget.ts";

interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

export const budgetMatchers = {
  /** @param received turn documents. */
  toKeepBudget(received: readonly TurnRecord[], budget: TurnBudget): MatcherResult {
    const { isMet, text } = checkBudget(arrayOf(received), budget);
    return { pass: isMet, message: () => text };
  },

  /** @param received times in µs. */
  toKeepLimits(received: readonly number[], limits: Limits): MatcherResult {
    const { isMet, text } = checkTimes(arrayOf(received), limits);
    return { pass: isMet, message: () => text };
  },
};

function arrayOf<Item>(received: readonly Item[]): readonly Item[] {
  if (Array.isArray(received)) return received;
  throw new ManxError("MANX_FLAG_VALUE", {
    what: "a budget is checked on a list",
    expected: "a list",
    got: typeof received,
  });
}

interface BudgetMatchers<Result> {
  /** Every percentile that the budget names is within its limit, with ten samples beyond it. */
  toKeepBudget(budget: TurnBudget): Result;
  /** The same for times in µs. */
  toKeepLimits(limits: Limits): Result;
}

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: as vitest declares it
  interface Matchers<T = any> extends BudgetMatchers<T> {}
}
