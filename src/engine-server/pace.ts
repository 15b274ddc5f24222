/**
 * Whether the twin keeps the pace that it promises. A step should end at its start plus its price; how much later its
 * tokens really leave is lag, and time that was given up because it could not be caught up is lost.
 *
 * The rule, over the last `WINDOW_S` seconds, and only once they have `STEPS_MIN` steps:
 *
 *     lag share  = Σ lag / Σ price of the steps       degraded above LAG_SHARE_MAX: tokens are late by a quarter of a gap
 *     lost share = lost / (Σ price + lost)            degraded above LOST_SHARE_MAX: the rate itself is not kept
 *
 * Invariant: memory is one slot a second of the window, whatever the rate of steps.
 */
import { US_PER_S } from "../core/index.ts";

export const WINDOW_S = 10;
export const STEPS_MIN = 20;
const LAG_SHARE_MAX = 0.25;
const LOST_SHARE_MAX = 0.01;

/** All times are the host's. */
export interface SettledStep {
  readonly lagUs: number;
  readonly priceUs: number;
  readonly lostUs: number;
}

export interface PaceReading {
  readonly status: "ok" | "degraded";
  readonly windowS: number;
  readonly steps: number;
  /** Whether these are enough steps for the rule; with fewer, "ok" says nothing. */
  readonly isJudged: boolean;
  /** Means over the window's steps, µs; NaN without steps. */
  readonly lagUs: number;
  readonly stepUs: number;
  /** 0 without steps. */
  readonly lagShare: number;
  /** 0 to 1: of the promised time, what was given up. */
  readonly lostShare: number;
  /** Why it is degraded, with the figures; empty if it is not. */
  readonly reason: string;
}

interface Slot {
  second: number;
  steps: number;
  lagUs: number;
  priceUs: number;
  lostUs: number;
}

export class Pace {
  readonly #slots: Slot[] = Array.from({ length: WINDOW_S }, () => emptySlot(-1));
  #worst: PaceReading | undefined;
  #lastUs = 0;

  settled(step: SettledStep, nowUs: number): void {
    const second = Math.floor(nowUs / US_PER_S);
    let slot = this.#slots[second % WINDOW_S]!;
    if (slot.second !== second) {
      // Before its oldest slot is dropped, the window as it last was may be the worst.
      this.#remember(this.read(this.#lastUs));
      slot = emptySlot(second);
      this.#slots[second % WINDOW_S] = slot;
    }
    slot.steps += 1;
    slot.lagUs += step.lagUs;
    slot.priceUs += step.priceUs;
    slot.lostUs += step.lostUs;
    this.#lastUs = nowUs;
  }

  read(nowUs: number): PaceReading {
    const second = Math.floor(nowUs / US_PER_S);
    const sum = emptySlot(second);
    for (const slot of this.#slots) {
      if (slot.second <= second - WINDOW_S || slot.second > second) continue;
      sum.steps += slot.steps;
      sum.lagUs += slot.lagUs;
      sum.priceUs += slot.priceUs;
      sum.lostUs += slot.lostUs;
    }
    return readingOf(sum);
  }

  /** The worst that a whole window, or the present one, has been. */
  worst(nowUs: number): PaceReading {
    this.#remember(this.read(nowUs));
    return this.#worst!;
  }

  #remember(reading: PaceReading): void {
    if (this.#worst === undefined || badness(reading) > badness(this.#worst)) this.#worst = reading;
  }
}

function emptySlot(second: number): Slot {
  return { second, steps: 0, lagUs: 0, priceUs: 0, lostUs: 0 };
}

/** 1 is the edge of the rule; below 0 it does not apply. */
function badness({ steps, lagShare, lostShare }: PaceReading): number {
  if (steps < STEPS_MIN) return -1;
  return Math.max(lagShare / LAG_SHARE_MAX, lostShare / LOST_SHARE_MAX);
}

function readingOf({ steps, lagUs, priceUs, lostUs }: Slot): PaceReading {
  const lagShare = priceUs === 0 ? 0 : lagUs / priceUs;
  const lostShare = priceUs === 0 ? 0 : lostUs / (priceUs + lostUs);
  const reasons: string[] = [];
  const isJudged = steps >= STEPS_MIN;
  if (isJudged && lostShare > LOST_SHARE_MAX) {
    reasons.push(`${percent(1 - lostShare)} of the promised rate`);
  }
  if (isJudged && lagShare > LAG_SHARE_MAX) {
    const ms = (us: number): string => (us / steps / 1_000).toFixed(2);
    reasons.push(
      `steps of ${ms(priceUs)} ms that ended ${ms(lagUs)} ms late, ${percent(lagShare)} of their length`,
    );
  }
  return {
    status: reasons.length > 0 ? "degraded" : "ok",
    windowS: WINDOW_S,
    steps,
    isJudged,
    lagUs: lagUs / steps,
    stepUs: priceUs / steps,
    lagShare,
    lostShare,
    reason: reasons.join("; "),
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
}
