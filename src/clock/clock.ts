/**
 * The one door to time. Schedulers and policies are given a Clock and never ask the host for the time, so the same code
 * runs against real sockets and in a simulated world.
 */

/** Takes a scheduled call back; safe to call twice or after it ran. */
export type Cancel = () => void;

export interface ScheduleOptions {
  /**
   * Real time only: reach the instant to well under a millisecond at the cost of spinning the event loop for the last
   * one. For a pacer of arrivals, not for a timer per request.
   */
  readonly precise?: boolean;
}

export interface Clock {
  /** Whole microseconds on a clock that only moves forward. The origin means nothing; differences do. */
  nowUs(): number;
  /** Unix time in milliseconds, for labels and names of runs only; may jump. */
  wallMs(): number;
  /** Calls `run` once at `atUs`; at once, but never before returning, if that is past. */
  at(atUs: number, run: () => void, options?: ScheduleOptions): Cancel;
  /** Resolves at `atUs`; rejects with the signal's reason if it aborts first. */
  sleepUntil(atUs: number, signal?: AbortSignal): Promise<void>;
  /** A signal that aborts at `atUs`, and a way to give it up. */
  deadline(atUs: number): { readonly signal: AbortSignal; readonly cancel: Cancel };
}

/** Its text up to the point, which a log asks for thousands of times: 30 ns instead of 550. */
let lastSecond = Number.NaN;
let lastText = "";

/** A wall time as the labels of documents have it: ISO 8601 in UTC, to the millisecond. @throws RangeError if it is none. */
export function isoTime(wallMs: number): string {
  const ms = Math.trunc(wallMs);
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) {
    lastText = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
    lastSecond = second;
  }
  return `${lastText}${String(ms - second * 1_000).padStart(3, "0")}Z`;
}

/** `sleepUntil` and `deadline` for a clock that can `at`. */
export abstract class TimerClock implements Clock {
  abstract nowUs(): number;
  abstract wallMs(): number;
  abstract at(atUs: number, run: () => void, options?: ScheduleOptions): Cancel;

  sleepUntil(atUs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.at(atUs, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  deadline(atUs: number): { readonly signal: AbortSignal; readonly cancel: Cancel } {
    const controller = new AbortController();
    const cancel = this.at(atUs, () => {
      controller.abort(new DOMException("the deadline has passed", "TimeoutError"));
    });
    return { signal: controller.signal, cancel };
  }
}
