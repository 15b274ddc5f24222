/** A command's surroundings in memory: what it prints, a clock that stands still, an interrupt to pull. */
import type { Io } from "../../src/cli/io.ts";
import { type Clock, SimClock } from "../../src/clock/index.ts";

export class FakeIo implements Io {
  out = "";
  err = "";
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly #interrupt = new AbortController();
  readonly stdout = {
    write: (text: string): void => {
      this.out += text;
    },
  };
  readonly stderr = {
    write: (text: string): void => {
      this.err += text;
    },
  };

  constructor(options: { env?: Record<string, string>; clock?: Clock } = {}) {
    this.env = options.env ?? {};
    this.clock = options.clock ?? new SimClock();
  }

  get interrupt(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** No other signal ever comes here. */
  onSignal(): () => void {
    return () => undefined;
  }

  /** What Ctrl-C does. */
  pull(): void {
    this.#interrupt.abort();
  }
}
