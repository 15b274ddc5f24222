/**
 * How late this process's timers run: a gateway whose event loop is held up delays every stream at once, and its other
 * figures do not say why. A block hides the ticks that it swallows, so each of them is recorded with the lag that it had.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import type { TimeHistogram } from "./time-histogram.ts";

const EVERY_US = 25_000;
/** A process that was stopped does not make a million samples. */
const SWALLOWED_MAX = 1_000;

export class LoopWatch {
  readonly #histogram: TimeHistogram;
  readonly #clock: Clock;
  readonly #index: number;
  #cancel: Cancel | undefined;

  constructor(histogram: TimeHistogram, clock: Clock) {
    this.#histogram = histogram;
    this.#clock = clock;
    this.#index = histogram.book.at();
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
      this.#histogram.record(this.#index, nowUs - nextUs);
      nextUs += EVERY_US;
    }
    this.#arm(Math.max(nextUs, nowUs + 1));
  }
}
