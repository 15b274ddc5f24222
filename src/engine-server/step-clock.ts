/**
 * The clock that drives a live engine. It passes all on to the real one, measures how late each step settles, and keeps
 * an exception of a step from ending the process: in a timer nobody else would catch it.
 */
import { type Cancel, type Clock, type ScheduleOptions, TimerClock } from "../clock/index.ts";

export interface StepWatch {
  /** A timer of the engine ran `lateUs` after its time, and all that it set off is done. */
  onStep(lateUs: number): void;
  /** A step threw; the engine has lost its thread and cannot go on. */
  onThrow(thrown: unknown): void;
}

export class StepClock extends TimerClock {
  readonly #inner: Clock;
  readonly #watch: StepWatch;

  constructor(inner: Clock, watch: StepWatch) {
    super();
    this.#inner = inner;
    this.#watch = watch;
  }

  nowUs(): number {
    return this.#inner.nowUs();
  }

  wallMs(): number {
    return this.#inner.wallMs();
  }

  at(atUs: number, run: () => void, options?: ScheduleOptions): Cancel {
    const guarded = (): void => {
      const lateUs = Math.max(0, this.#inner.nowUs() - atUs);
      try {
        run();
        this.#watch.onStep(lateUs);
      } catch (thrown) {
        this.#watch.onThrow(thrown);
      }
    };
    return this.#inner.at(atUs, guarded, options);
  }
}
