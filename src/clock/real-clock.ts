/**
 * The host's time. Every timer is set from an absolute instant, since relative ones add up their rounding, and the clock
 * keeps count of how late its timers ran, so that a driver can report its own lag.
 */
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
    let cancelled = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let immediate: ReturnType<typeof setImmediate> | undefined;
    const precise = options.precise === true;
    const arm = (): void => {
      const leftUs = atUs - this.nowUs();
      // What is due already must not wait for the next millisecond of the host's timers.
      if (leftUs <= 0 || (precise && leftUs <= SPIN_US)) {
        immediate = setImmediate(leftUs <= 0 ? fire : arm);
        return;
      }
      const waitMs = precise ? Math.floor((leftUs - SPIN_US) / 1_000) : Math.ceil(leftUs / 1_000);
      timer = setTimeout(
        waitMs > LONGEST_WAIT_MS || precise ? arm : fire,
        Math.min(Math.max(waitMs, 0), LONGEST_WAIT_MS),
      );
    };
    const fire = (): void => {
      if (cancelled) return;
      const lagUs = this.nowUs() - atUs;
      // The host may run a timer a fraction of a millisecond early; nothing may happen before its time.
      if (lagUs < 0) {
        immediate = setImmediate(fire);
        return;
      }
      this.#timers += 1;
      this.#lagSumUs += lagUs;
      if (lagUs > this.#lagMaxUs) this.#lagMaxUs = lagUs;
      run();
    };
    arm();
    return () => {
      cancelled = true;
      if (timer !== undefined) clearTimeout(timer);
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
