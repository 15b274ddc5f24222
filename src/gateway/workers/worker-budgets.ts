/**
 * A worker's budgets: what its own calls spend goes to the supervisor four times a second, which keeps it on disk and tells
 * the other workers. So a budget may be passed by what the other workers have spent within that time, and by what their
 * open calls have reserved.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { BudgetLedger, BudgetStore, LedgerState, Spending } from "../keys/index.ts";
import type { IpcLink } from "./ipc-link.ts";

const TELL_US = 250 * US_PER_MS;
const LAST_TELL_US = 2 * US_PER_S;

export interface WorkerBudgetsOptions {
  readonly ledger: BudgetLedger;
  readonly link: IpcLink;
  readonly clock: Clock;
  /** As the supervisor had it when this worker began. */
  readonly spent: LedgerState;
  /** What others have spent after that. */
  readonly since: readonly Spending[];
}

export class WorkerBudgets implements BudgetStore {
  readonly #ledger: BudgetLedger;
  readonly #link: IpcLink;
  readonly #clock: Clock;
  #cancel: Cancel | undefined;

  constructor({ ledger, link, clock, spent, since }: WorkerBudgetsOptions) {
    this.#ledger = ledger;
    this.#link = link;
    this.#clock = clock;
    ledger.restore(spent);
    ledger.add(since, clock.wallMs());
    link.on("spent", (value) => ledger.add(value as Spending[], clock.wallMs()));
    this.#plan();
  }

  /** The supervisor knows the files. */
  follow(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#cancel?.();
    const fresh = this.#ledger.takeFresh();
    if (fresh.length === 0) return;
    // An answer shows that it has arrived; a supervisor that is gone has nobody to tell.
    await this.#link.ask("spent", fresh, LAST_TELL_US).catch(() => undefined);
  }

  #plan(): void {
    this.#cancel = this.#clock.at(this.#clock.nowUs() + TELL_US, () => {
      const fresh = this.#ledger.takeFresh();
      if (fresh.length > 0) this.#link.tell("spent", fresh);
      this.#plan();
    });
  }
}
