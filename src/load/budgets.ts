/** Limits that one request must meet to have been served well; a request that misses one counts against goodput. */

import { lookUp, ManxError, parseDurationUs } from "../core/index.ts";
import { quantileRank } from "../stats/index.ts";
import type { Outcome } from "./target.ts";

export type BudgetName = "ttftUs" | "ttfvtUs" | "itlUs" | "tpotUs" | "gapUs" | "e2eUs";

/** In microseconds. */
export type RequestBudgets = Readonly<Partial<Record<BudgetName, number>>>;

/** By flag name, and what the limit is compared with. */
export const BUDGET_NAMES: Readonly<Record<string, { name: BudgetName; title: string }>> = {
  ttft: { name: "ttftUs", title: "TTFT" },
  ttfvt: { name: "ttfvtUs", title: "TTFVT" },
  itl: { name: "itlUs", title: "p99 of the stream's own ITL" },
  tpot: { name: "tpotUs", title: "TPOT" },
  gap: { name: "gapUs", title: "largest gap of the stream" },
  e2e: { name: "e2eUs", title: "E2E" },
};

/** What each budget is compared with; null where the response has no such figure, as one token has no gap. */
const FIGURES: Readonly<
  Record<BudgetName, (outcome: Outcome, intendedUs: number) => number | null>
> = {
  ttftUs: ({ stream }) => stream?.ttftUs ?? null,
  ttfvtUs: ({ stream }) => stream?.ttfvtUs ?? null,
  itlUs: ({ stream }) => ownP99(stream?.itlUs ?? []),
  tpotUs: ({ stream }) => stream?.tpotUs ?? null,
  gapUs: ({ stream }) => largest(stream?.chunkGapsUs ?? []),
  e2eUs: ({ endUs }, intendedUs) => endUs - intendedUs,
};

/** Whether a request that ended well met every budget. */
export function meetsBudgets(
  budgets: RequestBudgets,
  outcome: Outcome,
  intendedUs: number,
): boolean {
  return (Object.entries(budgets) as [BudgetName, number][]).every(([name, limitUs]) => {
    const figureUs = FIGURES[name](outcome, intendedUs);
    return figureUs === null || figureUs <= limitUs;
  });
}

export function largest(values: readonly number[]): number | null {
  let most: number | null = null;
  for (const value of values) if (most === null || value > most) most = value;
  return most;
}

function ownP99(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return sorted[quantileRank(0.99, sorted.length) - 1]!;
}

/**
 * @param text such as `ttft=500ms,itl=50ms,e2e=5s`.
 * @throws MANX_FLAG_VALUE, MANX_NAME_UNKNOWN with the names there are, MANX_DURATION
 */
export function parseBudgets(text: string, where: string): RequestBudgets {
  const budgets: Partial<Record<BudgetName, number>> = {};
  for (const part of text.split(",")) {
    const [key = "", value = "", ...rest] = part.split("=").map((piece) => piece.trim());
    if (key === "" || value === "" || rest.length > 0) {
      throw new ManxError("MANX_FLAG_VALUE", {
        where,
        expected: "name=duration, such as ttft=500ms,itl=50ms",
        got: JSON.stringify(part),
      });
    }
    const { name } = lookUp(BUDGET_NAMES, key, "budget", where);
    if (budgets[name] !== undefined) {
      throw new ManxError("MANX_FLAG_VALUE", {
        what: "a budget is given twice",
        where,
        got: JSON.stringify(text),
      });
    }
    budgets[name] = parseDurationUs(value, where);
  }
  return budgets;
}
