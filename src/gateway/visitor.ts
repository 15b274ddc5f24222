/** On whose behalf a request comes, what that may, and what it uses up. */
import { isManxError } from "../core/index.ts";
import type { BudgetLedger, KeyHolder, Reservation, TokensUsed } from "./keys/index.ts";
import { refusedModel } from "./keys/index.ts";

export interface Visitor {
  /** Its key is one of this gateway's, and of nobody else's business. */
  readonly hasKey: boolean;
  /** For queues and shares. */
  readonly tenant: string;
  /** 0 is served first. */
  readonly priority: number;
  /** Its key says so. */
  readonly mayWarmUp: boolean;
  mayUse(model: string): boolean;
  /** @throws MANX_FORBIDDEN for a model that it may not use, MANX_BUDGET_SPENT */
  reserve(model: string, inputTokens: number, outputTokens: number): void;
  /** Once, with what the call has used. */
  settle(used: TokensUsed): void;
}

const NOBODY = "anonymous";
const PRIORITY_DEFAULT = 1;

/** Where callers need no key. */
export const ANYONE: Visitor = {
  hasKey: false,
  tenant: NOBODY,
  priority: PRIORITY_DEFAULT,
  mayWarmUp: false,
  mayUse: () => true,
  reserve: () => undefined,
  settle: () => undefined,
};

export class KeyVisitor implements Visitor {
  readonly hasKey = true;
  readonly #holder: KeyHolder;
  readonly #ledger: BudgetLedger;
  readonly #wallMs: () => number;
  #reservation: Reservation | undefined;

  constructor(holder: KeyHolder, ledger: BudgetLedger, wallMs: () => number) {
    this.#holder = holder;
    this.#ledger = ledger;
    this.#wallMs = wallMs;
  }

  get tenant(): string {
    return this.#holder.admissionTenant;
  }

  get priority(): number {
    return this.#holder.priority;
  }

  get mayWarmUp(): boolean {
    return this.#holder.mayWarmUp;
  }

  mayUse(model: string): boolean {
    return refusedModel(this.#holder, model) === undefined;
  }

  reserve(model: string, inputTokens: number, outputTokens: number): void {
    const refusal = refusedModel(this.#holder, model);
    if (refusal !== undefined) throw refusal;
    const demand = { model, inputTokens, outputTokens };
    const reserved = this.#ledger.reserve(this.#holder, demand, this.#wallMs());
    if (isManxError(reserved)) throw reserved;
    this.#reservation = reserved;
  }

  settle(used: TokensUsed): void {
    const reservation = this.#reservation;
    this.#reservation = undefined;
    if (reservation !== undefined) this.#ledger.settle(reservation, used, this.#wallMs());
  }
}
