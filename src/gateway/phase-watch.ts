/**
 * One clock per attempt that knows in which phase it waits: connect, headers, gap, or write. Each phase has its own limit,
 * since one knob for all either kills healthy streams or lets dead ones hang (reference: one limit of 110 s ended
 * reasoning streams by the hundred).
 *
 * A stream of a thousand events touches the clock a thousand times, so a touch only stores a number; the one timer looks,
 * when it fires, whether the limit has really passed, and sets itself again if not.
 */
import type { Cancel, Clock } from "../clock/index.ts";

export type WaitPhase = "connect" | "headers" | "gap" | "write";

export class PhaseWatch {
  readonly #clock: Clock;
  readonly #onExpire: (phase: WaitPhase, limitUs: number) => void;
  #phase: WaitPhase = "connect";
  #limitUs = 0;
  #sinceUs = 0;
  #armedUs = Number.POSITIVE_INFINITY;
  #cancel: Cancel | undefined;
  #paused = false;

  constructor(clock: Clock, onExpire: (phase: WaitPhase, limitUs: number) => void) {
    this.#clock = clock;
    this.#onExpire = onExpire;
  }

  /** @param limitUs 0 for none. */
  enter(phase: WaitPhase, limitUs: number, nowUs: number): void {
    this.#phase = phase;
    this.#limitUs = limitUs;
    this.#sinceUs = nowUs;
    this.#paused = false;
    this.#arm();
  }

  /** Something arrived: the phase begins anew. */
  touch(nowUs: number): void {
    this.#sinceUs = nowUs;
  }

  /** The wait is somebody else's fault: it does not count. */
  pause(): void {
    this.#paused = true;
  }

  resume(nowUs: number): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#sinceUs = nowUs;
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#armedUs = Number.POSITIVE_INFINITY;
    this.#limitUs = 0;
  }

  /** A timer that is set for an earlier instant stays: it will look and set itself again. */
  #arm(): void {
    if (this.#limitUs === 0 || this.#paused) return;
    const dueUs = this.#sinceUs + this.#limitUs;
    if (this.#armedUs <= dueUs) return;
    this.#cancel?.();
    this.#armedUs = dueUs;
    this.#cancel = this.#clock.at(dueUs, () => this.#look());
  }

  #look(): void {
    this.#cancel = undefined;
    this.#armedUs = Number.POSITIVE_INFINITY;
    if (this.#limitUs === 0 || this.#paused) return;
    if (this.#clock.nowUs() < this.#sinceUs + this.#limitUs) {
      this.#arm();
      return;
    }
    const limitUs = this.#limitUs;
    this.stop();
    this.#onExpire(this.#phase, limitUs);
  }
}
