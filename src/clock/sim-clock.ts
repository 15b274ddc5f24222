/**
 * Simulated time: one heap ordered by (time, sequence). The clock moves from event to event, and asynchronous code is
 * drained after every timer: drained once per advance, a chain of 10 + 10 ms would end at 40.
 */
import { assert, EventHeap, type HeapEntry } from "../core/index.ts";
import { type Cancel, TimerClock } from "./clock.ts";

interface Timer extends HeapEntry {
  run: (() => void) | undefined;
}

export class SimClock extends TimerClock {
  readonly #heap = new EventHeap<Timer>();
  readonly #wallStartMs: number;
  #nowUs: number;
  #sequence = 0;

  /** @param startUs first value of `nowUs`. @param wallStartMs Unix time at that instant. */
  constructor(startUs = 0, wallStartMs = Date.UTC(2026, 0, 1)) {
    super();
    this.#nowUs = startUs;
    this.#wallStartMs = wallStartMs;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  wallMs(): number {
    return this.#wallStartMs + Math.floor(this.#nowUs / 1_000);
  }

  /** Timers not yet run; a cancelled one counts until its time has come. */
  get pending(): number {
    return this.#heap.size;
  }

  at(atUs: number, run: () => void): Cancel {
    assert(Number.isFinite(atUs), "a timer has a finite time");
    const timer: Timer = { atUs: Math.max(atUs, this.#nowUs), sequence: this.#sequence, run };
    this.#sequence += 1;
    this.#heap.push(timer);
    return () => {
      timer.run = undefined;
    };
  }

  /** Runs the next timer. Answers false if there is none. */
  step(): boolean {
    const timer = this.#heap.pop();
    if (timer === undefined) return false;
    const { run } = timer;
    if (run !== undefined) {
      this.#nowUs = timer.atUs;
      timer.run = undefined;
      run();
    }
    return true;
  }

  /** For worlds of callbacks only: runs timers up to and including `untilUs`. */
  runSync(untilUs = Number.POSITIVE_INFINITY): void {
    for (
      let next = this.#heap.peek();
      next !== undefined && next.atUs <= untilUs;
      next = this.#heap.peek()
    ) {
      this.step();
    }
    if (Number.isFinite(untilUs)) this.#nowUs = Math.max(this.#nowUs, untilUs);
  }

  /** Like `runSync` for worlds with promises: everything that a timer set off settles before the next one runs. */
  async run(untilUs = Number.POSITIVE_INFINITY): Promise<void> {
    await drain();
    for (
      let next = this.#heap.peek();
      next !== undefined && next.atUs <= untilUs;
      next = this.#heap.peek()
    ) {
      this.step();
      await drain();
    }
    if (Number.isFinite(untilUs)) this.#nowUs = Math.max(this.#nowUs, untilUs);
  }
}

/** The host's next macrotask comes only after all microtasks, so promises of any depth have settled by then. */
function drain(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
