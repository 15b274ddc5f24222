/**
 * One timer for a machine whose next due instant moves: later with each byte that comes, sooner now and then. A timer that
 * is set for an earlier instant stays; it asks again when it fires. So a stream of a thousand events sets few timers.
 */
import type { Cancel, Clock } from "../clock/index.ts";

export class DueTimer {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  #dueUs = Number.POSITIVE_INFINITY;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** @param dueUs infinite for none. */
  arm(dueUs: number): void {
    if (dueUs >= this.#dueUs) return;
    this.#cancel?.();
    this.#dueUs = dueUs;
    this.#cancel = this.#clock.at(dueUs, this.#fire);
  }

  stop(): void {
    this.#cancel?.();
    this.#dueUs = Number.POSITIVE_INFINITY;
  }

  readonly #fire = (): void => {
    this.#dueUs = Number.POSITIVE_INFINITY;
    this.#onDue();
  };
}
