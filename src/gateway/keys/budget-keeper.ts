/**
 * Keeps what keys have spent on disk: read once, written every two seconds if something was spent, and at the end. A gateway
 * that is killed loses at most what was spent since the last write. A disk that is full costs no request: its operator is
 * told once, and the next write tries again.
 *
 * One gateway to a file: two would each write its own half.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { type ManxError, toManxError, US_PER_S } from "../../core/index.ts";
import type { BudgetLedger } from "./budget-ledger.ts";
import { readSpentFile, spentPath, writeSpentFile } from "./spent-file.ts";

const WRITE_US = 2 * US_PER_S;

/** Where a ledger's state lives while no gateway runs. */
export interface BudgetStore {
  /**
   * From now on beside this file of keys.
   * @param keysPath null: keys stand in the configuration, or there are none.
   * @throws as `readSpentFile` does; then everything is as before.
   */
  follow(keysPath: string | null): Promise<void>;
  /** Nothing more will be spent. */
  close(): Promise<void>;
}

export interface BudgetKeeperOptions {
  readonly ledger: BudgetLedger;
  readonly clock: Clock;
  /** Told of the first of several writes in a row that fail. */
  readonly onFailure: (error: ManxError) => void;
}

export class BudgetKeeper implements BudgetStore {
  readonly #options: BudgetKeeperOptions;
  #path: string | null = null;
  #kept = 0;
  #isFailing = false;
  #writing: Promise<void> = Promise.resolve();
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(options: BudgetKeeperOptions) {
    this.#options = options;
  }

  /** What stands there already is taken over. Keys that stand in the configuration have no file: then nothing is kept. */
  async follow(keysPath: string | null): Promise<void> {
    const path = keysPath === null ? null : spentPath(keysPath);
    if (path === this.#path) return;
    const { ledger } = this.#options;
    if (path !== null) ledger.restore(await readSpentFile(path));
    // What came from the file need not go back; what was spent while it was another one has to.
    this.#kept = this.#cancel === undefined ? ledger.changes : -1;
    this.#path = path;
    if (this.#cancel === undefined) this.#plan();
  }

  /** Writes what is not written yet, and stops. */
  async close(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#write();
  }

  /** What is being written is on the disk, or could not be. */
  written(): Promise<void> {
    return this.#writing;
  }

  #plan(): void {
    const { clock } = this.#options;
    this.#cancel = clock.at(clock.nowUs() + WRITE_US, () => {
      void this.#write().then(() => {
        if (!this.#isStopped) this.#plan();
      });
    });
  }

  /** One after the other. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    const { ledger, onFailure } = this.#options;
    const { changes } = ledger;
    if (this.#path === null || changes === this.#kept) return;
    try {
      await writeSpentFile(this.#path, ledger.state());
      this.#kept = changes;
      this.#isFailing = false;
    } catch (thrown) {
      if (!this.#isFailing) onFailure(toManxError(thrown));
      this.#isFailing = true;
    }
  }
}
