/** How far a client's figures lie from the truth: each response's times against the server's own write times. */
import { Histogram, histogramQuantile, type Quantile } from "../stats/index.ts";
import type { Job, Outcome, Target } from "./target.ts";

export class Accuracy {
  /** Client's first output minus the server's first write. */
  readonly ttftError = new Histogram();
  /** Difference between a gap as seen and as written, without its sign. */
  readonly gapError = new Histogram();
  /** Reads that the client stamped before the server's own stamp: clocks that do not agree. */
  impossible = 0;
  missing = 0;

  /** @param ttftAtUs instant of the first output as the client has it, on the clock of `writesUs`. */
  add(writesUs: readonly number[] | undefined, ttftAtUs: number, gapsUs: readonly number[]): void {
    if (writesUs === undefined || writesUs.length !== gapsUs.length + 1) {
      this.missing += 1;
      return;
    }
    const errorUs = ttftAtUs - writesUs[0]!;
    if (errorUs < 0) this.impossible += 1;
    this.ttftError.record(Math.max(0, errorUs));
    for (const [i, gapUs] of gapsUs.entries()) {
      this.gapError.record(Math.abs(gapUs - (writesUs[i + 1]! - writesUs[i]!)));
    }
  }

  ttft(q: number): Quantile {
    return histogramQuantile(this.ttftError, q);
  }

  gap(q: number): Quantile {
    return histogramQuantile(this.gapError, q);
  }
}

/** Passes requests on to a target and lets somebody look at each outcome. */
export class Tap implements Target {
  readonly #inner: Target;
  readonly #look: (job: Job, outcome: Outcome) => void;

  constructor(inner: Target, look: (job: Job, outcome: Outcome) => void) {
    this.#inner = inner;
    this.#look = look;
  }

  send(job: Job, done: (outcome: Outcome) => void): void {
    this.#inner.send(job, (outcome) => {
      this.#look(job, outcome);
      done(outcome);
    });
  }
}
