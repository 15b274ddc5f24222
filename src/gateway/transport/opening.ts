/**
 * A connection that is being opened, and who waits for it. Requests may wait together while it is not known what the
 * upstream speaks: if HTTP/2, one connection is enough for them; if not, its TLS session makes theirs cheaper. Given up
 * when nobody waits any more.
 */
import type { Cancel } from "../../clock/index.ts";
import type { Channel } from "./channel.ts";
import { STREAMS_MAX } from "./h2-connection.ts";

export interface Waiter {
  opened(channel: Channel): void;
  failed(error: Error): void;
  /** It waits in another line now. @param leave that one. */
  moved(leave: Cancel): void;
}

export class Opening {
  /** More than the one request that it was begun for may wait. */
  readonly isShared: boolean;
  readonly #onGivenUp: (opening: Opening) => void;
  readonly #waiters = new Set<Waiter>();
  #cancelDial: Cancel | undefined;
  #isOver = false;
  /** It is wanted for its own sake: told when it is open, and no reason to give it up. */
  ahead: ((error: Error | null) => void) | undefined;

  constructor(isShared: boolean, onGivenUp: (opening: Opening) => void) {
    this.isShared = isShared;
    this.#onGivenUp = onGivenUp;
  }

  get hasRoom(): boolean {
    return this.isShared && !this.#isOver && this.#waiters.size < STREAMS_MAX;
  }

  /** @param dial may answer at once. */
  start(dial: () => Cancel): void {
    const cancel = dial();
    if (!this.#isOver) this.#cancelDial = cancel;
  }

  /** @returns leaves; without effect once it has been called back. */
  join(waiter: Waiter): Cancel {
    this.#waiters.add(waiter);
    return () => {
      const wasLast = this.#waiters.delete(waiter) && this.#waiters.size === 0;
      if (wasLast && this.ahead === undefined) this.giveUp();
    };
  }

  /** @returns those that wait, who have then to be told. */
  end(): Waiter[] {
    this.#isOver = true;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    return waiters;
  }

  /** Whoever waits is told `error`; with none, nobody waits. */
  giveUp(error?: Error): void {
    if (this.#isOver) return;
    this.#cancelDial?.();
    const waiters = this.end();
    this.#onGivenUp(this);
    if (error === undefined) return;
    for (const waiter of waiters) waiter.failed(error);
    this.ahead?.(error);
  }
}
