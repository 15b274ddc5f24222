/**
 * What each key has spent today and this month, in tokens and money, and what its open calls may still spend. Pure: it is
 * told the time, keeps nothing on disk, and gives and takes its state as plain data for whoever keeps it.
 *
 * A call reserves what it may use before it starts, so that a hundred at once cannot each see the last token free; what it
 * did use takes the reservation's place. A call without a limit on its answer reserves its prompt alone, so a budget may
 * be passed by the answers of the calls that are open when it ends, and by no more.
 *
 * Periods are UTC days and months. A clock that is set back opens no old period again.
 */
import { ManxError } from "../../core/index.ts";
import type { KeyHolder } from "./key-ring.ts";
import { costMicroUsd, type PriceTable, type TokensUsed } from "./price-table.ts";

/** What a call may use; `outputTokens` is its limit, 0 if it has none. */
export interface CallDemand {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Settled once, with what the call has used. */
export interface Reservation {
  readonly keyId: string;
  readonly model: string;
  readonly tokens: number;
  readonly microUsd: number;
}

interface Period {
  /** Days or months since 1970. */
  number: number;
  tokens: number;
  microUsd: number;
}

interface Account {
  readonly day: Period;
  readonly month: Period;
  reservedTokens: number;
  reservedMicroUsd: number;
}

/** For keeping over a restart: numbers of periods, tokens, millionths of a USD. */
export interface LedgerState {
  readonly accounts: Readonly<Record<string, { readonly day: Period; readonly month: Period }>>;
}

/** What one key has spent in calls that ended. */
export interface Spending {
  readonly keyId: string;
  readonly tokens: number;
  readonly microUsd: number;
}

const DAY_MS = 86_400_000;
const ACCOUNTS_MAX = 100_000;

export class BudgetLedger {
  /** For calls from now on; of those that are open too, when they end. */
  prices: PriceTable | null;
  readonly #accounts = new Map<string, Account>();

  /** Settled here and not taken yet, by key. */
  readonly #fresh = new Map<string, { tokens: number; microUsd: number }>();
  #changes = 0;

  constructor(prices: PriceTable | null, state: LedgerState = { accounts: {} }) {
    this.prices = prices;
    this.restore(state);
  }

  /** Grows whenever something has been spent. */
  get changes(): number {
    return this.#changes;
  }

  /** Takes over accounts that it does not have. */
  restore(state: LedgerState): void {
    for (const [keyId, { day, month }] of Object.entries(state.accounts)) {
      if (this.#accounts.has(keyId) || this.#accounts.size >= ACCOUNTS_MAX) continue;
      this.#accounts.set(keyId, {
        day: { ...day },
        month: { ...month },
        reservedTokens: 0,
        reservedMicroUsd: 0,
      });
    }
  }

  /** @returns what to settle, or MANX_BUDGET_SPENT, or MANX_FORBIDDEN where a budget in money meets a model without price. */
  reserve(holder: KeyHolder, demand: CallDemand, wallMs: number): Reservation | ManxError {
    const { budget, keyId } = holder;
    const tokens = demand.inputTokens + demand.outputTokens;
    const microUsd = this.#cost(demand.model, { ...demand, cachedTokens: 0 });
    const isInMoney = budget.usdPerDay !== null || budget.usdPerMonth !== null;
    if (microUsd === undefined && isInMoney) {
      return new ManxError("MANX_FORBIDDEN", {
        what: `the key mk_${keyId} has a budget in money, and this model has no price`,
        where: "model",
        got: JSON.stringify(demand.model.slice(0, 100)),
      });
    }
    const account = this.#account(keyId, wallMs);
    const { day, month, reservedTokens, reservedMicroUsd } = account;
    const asked = { tokens: reservedTokens + tokens, microUsd: reservedMicroUsd + (microUsd ?? 0) };
    const refused =
      spent(keyId, "day", day, asked, budget.tokensPerDay, budget.usdPerDay, wallMs) ??
      spent(keyId, "month", month, asked, budget.tokensPerMonth, budget.usdPerMonth, wallMs);
    if (refused !== undefined) return refused;
    account.reservedTokens += tokens;
    account.reservedMicroUsd += microUsd ?? 0;
    return { keyId, model: demand.model, tokens, microUsd: microUsd ?? 0 };
  }

  /** @param used over all attempts; what a call that did not run used is 0. Counts in the period in which it ends. */
  settle(reservation: Reservation, used: TokensUsed, wallMs: number): void {
    const account = this.#account(reservation.keyId, wallMs);
    account.reservedTokens = Math.max(0, account.reservedTokens - reservation.tokens);
    account.reservedMicroUsd = Math.max(0, account.reservedMicroUsd - reservation.microUsd);
    const tokens = used.inputTokens + used.outputTokens;
    const microUsd = this.#cost(reservation.model, used) ?? 0;
    if (tokens === 0 && microUsd === 0) return;
    this.#book(account, tokens, microUsd);
    const { keyId } = reservation;
    const fresh = this.#fresh.get(keyId) ?? { tokens: 0, microUsd: 0 };
    this.#fresh.set(keyId, {
      tokens: fresh.tokens + tokens,
      microUsd: fresh.microUsd + microUsd,
    });
  }

  /** What was settled here since the last time; for the other processes that have the same keys. */
  takeFresh(): Spending[] {
    const spendings = Array.from(this.#fresh, ([keyId, spent]) => ({ keyId, ...spent }));
    this.#fresh.clear();
    return spendings;
  }

  /** What was settled elsewhere. */
  add(spendings: readonly Spending[], wallMs: number): void {
    for (const { keyId, tokens, microUsd } of spendings) {
      this.#book(this.#account(keyId, wallMs), tokens, microUsd);
    }
  }

  #book({ day, month }: Account, tokens: number, microUsd: number): void {
    this.#changes += 1;
    for (const period of [day, month]) {
      period.tokens += tokens;
      period.microUsd += microUsd;
    }
  }

  /** Of the periods that are now. */
  spentBy(
    keyId: string,
    wallMs: number,
  ): Readonly<Record<"day" | "month", { tokens: number; usd: number }>> {
    const { day, month } = this.#account(keyId, wallMs);
    const plain = ({ tokens, microUsd }: Period) => ({ tokens, usd: microUsd / 1e6 });
    return { day: plain(day), month: plain(month) };
  }

  state(): LedgerState {
    const accounts = [...this.#accounts].map(([keyId, { day, month }]) => [
      keyId,
      { day: { ...day }, month: { ...month } },
    ]);
    return { accounts: Object.fromEntries(accounts) };
  }

  #cost(model: string, used: TokensUsed): number | undefined {
    return this.prices === null ? undefined : costMicroUsd(this.prices, model, used);
  }

  #account(keyId: string, wallMs: number): Account {
    const day = Math.floor(wallMs / DAY_MS);
    const month = monthOf(wallMs);
    let account = this.#accounts.get(keyId);
    if (account === undefined) {
      this.#makeRoom(month);
      account = { day: empty(day), month: empty(month), reservedTokens: 0, reservedMicroUsd: 0 };
      this.#accounts.set(keyId, account);
    }
    roll(account.day, day);
    roll(account.month, month);
    return account;
  }

  /** Keys come from the configuration, so there are few; those of past months go first, then the oldest. */
  #makeRoom(month: number): void {
    if (this.#accounts.size < ACCOUNTS_MAX) return;
    for (const [keyId, account] of this.#accounts) {
      if (account.month.number < month && account.reservedTokens === 0)
        this.#accounts.delete(keyId);
    }
    for (const keyId of this.#accounts.keys()) {
      if (this.#accounts.size < ACCOUNTS_MAX) break;
      this.#accounts.delete(keyId);
    }
  }
}

function spent(
  keyId: string,
  name: "day" | "month",
  period: Period,
  asked: { readonly tokens: number; readonly microUsd: number },
  tokensMax: number | null,
  usdMax: number | null,
  wallMs: number,
): ManxError | undefined {
  const refuse = (expected: string, got: string): ManxError =>
    new ManxError("MANX_BUDGET_SPENT", {
      where: `mk_${keyId}`,
      expected: `${expected} a ${name}`,
      got,
      details: { retryAfterUs: (endOf(name, wallMs) - wallMs) * 1_000 },
    });
  if (tokensMax !== null && period.tokens + asked.tokens > tokensMax) {
    const got = `${period.tokens} spent, ${asked.tokens} more asked for or open`;
    return refuse(`at most ${tokensMax} tokens`, got);
  }
  if (usdMax !== null && period.microUsd + asked.microUsd > usdMax * 1e6) {
    const [had, more] = [period.microUsd, asked.microUsd].map((one) => (one / 1e6).toFixed(4));
    return refuse(`at most ${usdMax} USD`, `${had} spent, ${more} more asked for or open`);
  }
  return undefined;
}

function empty(number: number): Period {
  return { number, tokens: 0, microUsd: 0 };
}

function roll(period: Period, number: number): void {
  if (number <= period.number) return;
  period.number = number;
  period.tokens = 0;
  period.microUsd = 0;
}

function monthOf(wallMs: number): number {
  const date = new Date(wallMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth() - 1970 * 12;
}

function endOf(name: "day" | "month", wallMs: number): number {
  if (name === "day") return (Math.floor(wallMs / DAY_MS) + 1) * DAY_MS;
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
