/**
 * Keeps a number of upstream connections open, so that no request pays for TCP and TLS, not even the first after a quiet
 * minute in which the upstream closed what was idle. One that closes is replaced at once, but at most once a second; while
 * the upstream is down, after 1 s, 2 s, 4 s … 30 s.
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { US_PER_S } from "../core/index.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

const WAIT_FIRST_US = US_PER_S;
const WAIT_MOST_US = 30 * US_PER_S;

export class WarmKeeper {
  readonly #pool: UpstreamPool;
  readonly #clock: Clock;
  readonly #count: number;
  #waitUs = WAIT_FIRST_US;
  #filledUs = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;
  #busy = false;
  #stopped = false;

  constructor(pool: UpstreamPool, clock: Clock, count: number) {
    this.#pool = pool;
    this.#clock = clock;
    this.#count = count;
    pool.onShrink = () => this.#plan();
  }

  /** @returns why the connections are not all open, or null. */
  async fill(): Promise<Error | null> {
    this.#busy = true;
    const error = await this.#pool.warm(this.#count);
    this.#busy = false;
    this.#filledUs = this.#clock.nowUs();
    this.#waitUs = error === null ? WAIT_FIRST_US : Math.min(this.#waitUs * 2, WAIT_MOST_US);
    this.#plan();
    return error;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #plan(): void {
    if (this.#stopped || this.#busy || this.#cancel !== undefined) return;
    if (this.#pool.usable >= this.#count) return;
    const dueUs = Math.max(this.#clock.nowUs(), this.#filledUs + this.#waitUs);
    this.#cancel = this.#clock.at(dueUs, () => {
      this.#cancel = undefined;
      void this.fill();
    });
  }
}
