/**
 * The host's time. Every timer is set from an absolute instant, since relative ones add up their rounding, and the clock
 * keeps count of how late its timers ran, so that a driver can report its own lag.
 *
 * All its alarms share one timer of the host, which is set for the soonest: Node keeps a list for each length of a wait,
 * and waits that end at an instant have a new length each time, so that each would make and drop a list.
 */
import { type Alarm, AlarmHeap, NOWHERE } from "./alarm-heap.ts";
import { type Cancel, type Clock, type ScheduleOptions, TimerClock } from "./clock.ts";

/** A host timer cannot wait longer than 2^31 − 1 ms; a later instant is reached in several waits. */
const LONGEST_WAIT_MS = 2_147_483_000;
/** Host timers have a resolution of 1 ms: a precise wait sleeps to this distance and spins the rest. */
const SPIN_US = 1_200;

export interface TimerLag {
  readonly timers: number;
  readonly meanUs: number;
  readonly maxUs: number;
}

export class RealClock extends TimerClock {
  // CLOCK_MONOTONIC where the host shows it, which all processes of one host share; so stamps of a client and of a
  // server in another process can be compared.
  readonly #originUs: number = hostOriginUs();
  readonly #alarms = new AlarmHeap();
  #sequence = 0;
  /** Wakes at `#hostUs` or before; kept when its alarm is gone. */
  #host: ReturnType<typeof setTimeout> | undefined;
  #hostUs = 0;
  #timers = 0;
  #lagSumUs = 0;
  #lagMaxUs = 0;

  nowUs(): number {
    return Math.round(performance.now() * 1_000 + this.#originUs);
  }

  /** When the process (or the worker) began: before the first line of its code ran. */
  get processStartUs(): number {
    return Math.round(this.#originUs);
  }

  wallMs(): number {
    return Date.now();
  }

  at(atUs: number, run: () => void, options: ScheduleOptions = {}): Cancel {
    if (options.precise === true) return this.#atPrecisely(atUs, run);
    this.#sequence += 1;
    const alarm: Alarm = { atUs, sequence: this.#sequence, run, place: NOWHERE };
    // What is due already must not wait for the next millisecond of the host's timers.
    if (atUs <= this.nowUs()) {
      const immediate = setImmediate(() => this.#run(alarm));
      return () => clearImmediate(immediate);
    }
    this.#alarms.push(alarm);
    this.#wait();
    return () => {
      this.#alarms.remove(alarm);
      this.#wait();
    };
  }

  /** Sees to it that the host wakes it for the next alarm, and does not stay up for none. */
  #wait(): void {
    const next = this.#alarms.peek();
    if (next === undefined) {
      this.#host?.unref();
    } else if (this.#host === undefined || next.atUs < this.#hostUs) {
      clearTimeout(this.#host);
      const waitMs = Math.ceil((next.atUs - this.nowUs()) / 1_000);
      this.#hostUs = next.atUs;
      this.#host = setTimeout(this.#ring, Math.min(Math.max(waitMs, 0), LONGEST_WAIT_MS));
    } else {
      // One that was set for an alarm that is gone wakes too early, and sleeps on.
      this.#host.ref();
    }
  }

  readonly #ring = (): void => {
    // Woken from elsewhere, there may still be one; two would breed more.
    clearTimeout(this.#host);
    this.#host = undefined;
    try {
      for (;;) {
        const next = this.#alarms.peek();
        if (next === undefined) break;
        const leftUs = next.atUs - this.nowUs();
        if (leftUs > 0) {
          // The host may wake it a fraction of a millisecond early, and would then sleep for a whole one.
          if (leftUs < 1_000) setImmediate(this.#ring);
          break;
        }
        this.#alarms.remove(next);
        this.#run(next);
      }
    } finally {
      // Also after one that has thrown: the others are not to blame.
      this.#wait();
    }
  };

  #run({ atUs, run }: Alarm): void {
    const lagUs = this.nowUs() - atUs;
    this.#timers += 1;
    this.#lagSumUs += lagUs;
    if (lagUs > this.#lagMaxUs) this.#lagMaxUs = lagUs;
    run();
  }

  #atPrecisely(atUs: number, run: () => void): Cancel {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let immediate: ReturnType<typeof setImmediate> | undefined;
    const alarm: Alarm = { atUs, sequence: 0, run, place: NOWHERE };
    const arm = (): void => {
      const leftUs = atUs - this.nowUs();
      if (leftUs <= SPIN_US) {
        immediate = setImmediate(leftUs <= 0 ? () => this.#run(alarm) : arm);
        return;
      }
      const waitMs = Math.floor((leftUs - SPIN_US) / 1_000);
      timer = setTimeout(arm, Math.min(waitMs, LONGEST_WAIT_MS));
    };
    arm();
    return () => {
      clearTimeout(timer);
      if (immediate !== undefined) clearImmediate(immediate);
    };
  }

  /** How late timers ran since the clock was made. */
  lag(): TimerLag {
    const meanUs = this.#timers === 0 ? 0 : Math.round(this.#lagSumUs / this.#timers);
    return { timers: this.#timers, meanUs, maxUs: this.#lagMaxUs };
  }
}

/**
 * What to add to `performance.now()`. Time that passes between the two readings makes the difference smaller, and the
 * first reading of all is slow, so the largest of a few is the one nearest to the truth.
 */
function hostOriginUs(): number {
  let originUs = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < 10; i += 1) {
    originUs = Math.max(originUs, hostMonotonicUs() - performance.now() * 1_000);
  }
  return originUs;
}

function hostMonotonicUs(): number {
  const host = globalThis as { process?: { hrtime?: { bigint?: () => bigint } } };
  const now = host.process?.hrtime?.bigint?.();
  return now === undefined ? performance.now() * 1_000 : Number(now) / 1_000;
}

/** The process's clock. Pass it in at the top; do not reach for it further down. */
export const realClock: RealClock & Clock = new RealClock();
