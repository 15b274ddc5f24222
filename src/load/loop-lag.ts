/**
 * Samples how late this process's timers run while load is sent: a client whose event loop is blocked stamps every read
 * late, and its figures are about itself (casebook LD-07). A block hides the ticks that it swallows, so each swallowed
 * tick is recorded with the lag that it had; otherwise a block of 50 ms would be one sample among many good ones.
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { Histogram } from "../stats/index.ts";

const EVERY_US = 10_000;
/** A process that was stopped (a laptop asleep) does not make a million samples. */
const SWALLOWED_MAX = 10_000;

export class LoopLag {
  readonly histogram = new Histogram();
  readonly #clock: Clock;
  #cancel: Cancel | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#arm(this.#clock.nowUs() + EVERY_US);
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
      this.histogram.record(nowUs - nextUs);
      nextUs += EVERY_US;
    }
    this.#arm(nextUs > nowUs ? nextUs : nowUs + EVERY_US);
  }
}
