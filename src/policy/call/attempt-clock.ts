/**
 * What an attempt waits for and until when. The phases follow one another and each has its own limit; within the answer
 * two clocks run, life (any byte) and progress (output of the model): a ping resets the first only (casebook GW-09).
 */
import type { PhaseTimeouts } from "./call-policy.ts";
import type { FailureKind } from "./failure.ts";

export type AttemptPhase = "connect" | "headers" | "first_content" | "content";

export interface Due {
  readonly atUs: number;
  readonly kind: FailureKind;
}

export class AttemptClock {
  readonly #timeouts: PhaseTimeouts;
  readonly #isStream: boolean;
  #phase: AttemptPhase = "connect";
  #beganUs: number;
  #sentUs = 0;
  #lastByteUs = 0;
  #lastProgressUs = 0;
  #isThinking = false;
  #pausedUs: number | undefined;

  constructor(timeouts: PhaseTimeouts, isStream: boolean, nowUs: number) {
    this.#timeouts = timeouts;
    this.#isStream = isStream;
    this.#beganUs = nowUs;
  }

  get phase(): AttemptPhase {
    return this.#phase;
  }

  sent(nowUs: number): void {
    this.#phase = "headers";
    this.#sentUs = nowUs;
  }

  head(nowUs: number): void {
    this.#phase = "first_content";
    this.#lastByteUs = nowUs;
  }

  content(nowUs: number): void {
    this.#phase = "content";
    this.#lastByteUs = nowUs;
    this.#lastProgressUs = nowUs;
  }

  read(nowUs: number, isProgress: boolean, isThinking: boolean): void {
    this.#lastByteUs = nowUs;
    if (!isProgress) return;
    this.#lastProgressUs = nowUs;
    this.#isThinking = isThinking;
  }

  /** The caller does not read; for that time neither byte nor progress can come through. */
  pause(nowUs: number): void {
    this.#pausedUs ??= nowUs;
  }

  resume(nowUs: number): void {
    if (this.#pausedUs === undefined) return;
    const heldUs = nowUs - this.#pausedUs;
    // What was on its way when the caller stopped has come since, and must not count as of tomorrow.
    this.#lastByteUs = Math.min(nowUs, this.#lastByteUs + heldUs);
    this.#lastProgressUs = Math.min(nowUs, this.#lastProgressUs + heldUs);
    this.#pausedUs = undefined;
  }

  /** The limit that will be reached first if nothing happens; `atUs` is infinite if there is none. */
  get due(): Due {
    const t = this.#timeouts;
    if (this.#pausedUs !== undefined) return NEVER;
    switch (this.#phase) {
      case "connect":
        return { atUs: after(this.#beganUs, t.connectUs), kind: "timeout_connect" };
      case "headers": {
        const head: Due = { atUs: after(this.#sentUs, t.headersUs), kind: "timeout_headers" };
        return this.#isStream ? sooner(head, this.#contentDue) : head;
      }
      case "first_content": {
        const life: Due = { atUs: after(this.#lastByteUs, t.lifeGapUs), kind: "stall_bytes" };
        return this.#isStream ? sooner(life, this.#contentDue) : life;
      }
      default: {
        const life: Due = { atUs: after(this.#lastByteUs, t.lifeGapUs), kind: "stall_bytes" };
        if (!this.#isStream) return life;
        const limitUs = this.#isThinking ? t.thinkingGapUs : t.progressGapUs;
        return sooner(life, { atUs: after(this.#lastProgressUs, limitUs), kind: "stall_progress" });
      }
    }
  }

  get #contentDue(): Due {
    return {
      atUs: after(this.#sentUs, this.#timeouts.firstContentUs),
      kind: "timeout_first_content",
    };
  }
}

const NEVER: Due = { atUs: Number.POSITIVE_INFINITY, kind: "stall_bytes" };

function after(sinceUs: number, limitUs: number): number {
  return limitUs === 0 ? Number.POSITIVE_INFINITY : sinceUs + limitUs;
}

function sooner(one: Due, other: Due): Due {
  return other.atUs < one.atUs ? other : one;
}
