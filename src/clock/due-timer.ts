/**
 * One timer for a machine whose next due instant moves: later with each byte that comes, sooner now and then. A timer that
 * is set for an earlier instant stays; it asks again when it fires. So a stream of a thousand events sets few timers.
 *
 * A process that was busy runs its timers before it reads its sockets, and would take its own delay for an upstream's
 * silence. So a timer that is late lets the sockets be read first.
 */
import type { Cancel, Clock } from "./clock.ts";

/** Later than this is no matter of a timer's grain. */
const LATE_US = 10_000;

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
    const nowUs = this.#clock.nowUs();
    // The loop comes by its sockets before the next timer.
    if (nowUs - this.#dueUs > LATE_US) this.#cancel = this.#clock.at(nowUs, this.#tell);
    else this.#tell();
  };

  readonly #tell = (): void => {
    this.#dueUs = Number.POSITIVE_INFINITY;
    this.#onDue();
  };
}
