/**
 * The clock of a live twin: 0 when it was made, and from there the host's time run `speed` times as fast, so that everything
 * in the twin is faster alike: steps, links, ageing, neighbours. It measures how late each timer settles and keeps an
 * exception of a step from ending the process: in a timer nobody else would catch it.
 */
import { type Cancel, type Clock, type ScheduleOptions, TimerClock } from "../clock/index.ts";

export interface StepWatch {
  /** A timer ran `lateUs` of the host's time after its own, and all that it set off is done. */
  onStep(lateUs: number): void;
  /** A step threw; the engine has lost its thread and cannot go on. */
  onThrow(thrown: unknown): void;
}

export class TwinClock extends TimerClock {
  readonly #host: Clock;
  readonly #speed: number;
  readonly #watch: StepWatch;
  readonly #startUs: number;

  /** @param speed above 0; 1 is the host's own pace. */
  constructor(host: Clock, speed: number, watch: StepWatch) {
    super();
    this.#host = host;
    this.#speed = speed;
    this.#watch = watch;
    this.#startUs = host.nowUs();
  }

  nowUs(): number {
    return Math.round((this.#host.nowUs() - this.#startUs) * this.#speed);
  }

  wallMs(): number {
    return this.#host.wallMs();
  }

  at(atUs: number, run: () => void, options?: ScheduleOptions): Cancel {
    // Rounded up: by its own time, too, a timer never runs early.
    const hostUs = this.#startUs + Math.ceil(this.hostSpanUs(atUs));
    const guarded = (): void => {
      const lateUs = Math.max(0, this.#host.nowUs() - hostUs);
      try {
        run();
        this.#watch.onStep(lateUs);
      } catch (thrown) {
        this.#watch.onThrow(thrown);
      }
    };
    return this.#host.at(hostUs, guarded, options);
  }

  /** What a span of the twin's time takes on the host, µs, not rounded. */
  hostSpanUs(spanUs: number): number {
    return spanUs / this.#speed;
  }
}
