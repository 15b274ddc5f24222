/** What prefetching may cost, as its user sets it, with defaults and checks. */
import { ManxError } from "../../core/index.ts";

export interface PrefetchBudget {
  /** Prefetches that run at once, over all turns. Default 2; 0 turns prefetching off. */
  readonly concurrency?: number;
  /** Starts in one turn. Default 8; 0 turns prefetching off. */
  readonly callsPerTurn?: number;
  /** Most that calls in vain may cost, as a share of what the model's own calls cost. Default 0.2; 0 turns it off. */
  readonly wasteShare?: number;
  /** µs of waiting that one call in vain of cost 1 is worth: dear calls need better odds. Default 100,000. */
  readonly missUs?: number;
  /** Share of a resource's places, 0 to 1, from which on only real calls begin. Default 0.75. */
  readonly pressureMax?: number;
}

export type PrefetchLimits = Required<PrefetchBudget>;

/** @throws MANX_TOOL_INVALID */
export function limitsOf(budget: PrefetchBudget): PrefetchLimits {
  return {
    concurrency: whole("concurrency", budget.concurrency ?? 2),
    callsPerTurn: whole("callsPerTurn", budget.callsPerTurn ?? 8),
    wasteShare: within("wasteShare", budget.wasteShare ?? 0.2, 10),
    missUs: within("missUs", budget.missUs ?? 100_000, Number.MAX_SAFE_INTEGER),
    pressureMax: within("pressureMax", budget.pressureMax ?? 0.75, 1),
  };
}

/** With one of these at zero nothing is ever started. */
export function isZero({ concurrency, callsPerTurn, wasteShare }: PrefetchLimits): boolean {
  return concurrency === 0 || callsPerTurn === 0 || wasteShare === 0;
}

function whole(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0) return value;
  throw invalid(name, "a whole number from 0", value);
}

function within(name: string, value: number, max: number): number {
  if (Number.isFinite(value) && value >= 0 && value <= max) return value;
  throw invalid(name, `a number from 0 to ${max}`, value);
}

function invalid(name: string, expected: string, got: unknown): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "a budget for prefetching that cannot be",
    where: `budget.${name}`,
    expected,
    got: String(got),
    hint: "see docs/how-to/prefetch.md",
  });
}
