/**
 * How late this process's timers run: whose event loop is blocked stamps every read late, and delays every stream at once
 * (casebook LD-07). A block hides the ticks that it swallows, so each swallowed tick is told with the lag that it had;
 * otherwise a block of 50 ms would be one sample among many good ones.
 */
import type { Cancel, Clock } from "./clock.ts";

/** A process that was stopped (a laptop asleep) does not make a million samples. */
const SWALLOWED_MAX = 10_000;

export class LateTicks {
  readonly #clock: Clock;
  readonly #everyUs: number;
  readonly #onTick: (lagUs: number) => void;
  #cancel: Cancel | undefined;

  /** @param onTick told of each tick how late it was, in µs from 0. */
  constructor(clock: Clock, everyUs: number, onTick: (lagUs: number) => void) {
    this.#clock = clock;
    this.#everyUs = everyUs;
    this.#onTick = onTick;
  }

  start(): void {
    this.#arm(this.#clock.nowUs() + this.#everyUs);
  }

  stop(): void {
    this.#cancel?.();
  }

  #arm(atUs: number): void {
    this.#cancel = this.#clock.at(atUs, () => this.#tick(atUs));
  }

  #tick(dueUs: number): void {
    const nowUs = this.#clock.nowUs();
    let nextUs = dueUs;
    for (let swallowed = 0; nextUs <= nowUs && swallowed < SWALLOWED_MAX; swallowed += 1) {
      this.#onTick(nowUs - nextUs);
      nextUs += this.#everyUs;
    }
    this.#arm(nextUs > nowUs ? nextUs : nowUs + this.#everyUs);
  }
}
