/**
 * Most requests in flight, found from the times to first content: does a full house cost more than a half-empty one?
 *
 *     quiet   mean log TTFT of requests that began with at most half the limit in flight, by size of prompt
 *     r       mean over a window of the others: TTFT over the quiet one of the same size
 *     limit'  limit · clamp(tolerance / r, ½, 1) + ½ √limit        smoothed, between floor and ceiling
 *
 * The last line is the step of Netflix's concurrency-limits (`Gradient2Limit`), whose √limit is the room to explore; half
 * of it, since a full house is at most twice as slow as a half-empty one, and a gradient of ¾ has to outweigh the room even
 * at a limit of 8. Its reference, and the usual one, is the smallest or the long-run latency; neither fits here. A prompt
 * out of the prefix cache answers ten times sooner than any other, so the smallest latency says nothing about load, and a
 * long-run mean learns to take overload for normal. A quiet one has the same mix and is measured anew: under steady
 * pressure the limit is halved for a moment, never below the floor: every `probeEveryUs`, and soon after it has fallen by
 * half, which is either load or an upstream that has become slower as a whole. A probe tells which.
 *
 * At the start, and when a probe has found that the fall was no load, the limit is doubled instead of stepped up, window by
 * window, until the first sign of load takes back the last doubling (TCP's slow start, Jacobson 1988): nothing is known
 * then of where the limit lies, and a step of √limit would take minutes to find out.
 *
 * Only the upstream's own time counts. A slow reader keeps its place for long but does not lengthen anybody's time to first
 * content, so it lowers no limit; it can only be in the way, for which the limit then grows.
 */
import { ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import { QuietLatency } from "./quiet-latency.ts";
import { type Excess, SizedLogs } from "./sized-logs.ts";

export interface AdaptiveLimitOptions {
  readonly kind: "adaptive";
  /** Never below, at least one place for each lane. Default 8. */
  readonly floor: number;
  /** Never above. Default 1,024. */
  readonly ceiling: number;
  /** To begin with. Default 64. */
  readonly start: number;
  /** How many times the quiet TTFT is fine. Default 1.5. */
  readonly tolerance: number;
  /** Default 30 s. */
  readonly probeEveryUs: number;
}

export const DEFAULT_ADAPTIVE: AdaptiveLimitOptions = {
  kind: "adaptive",
  floor: 8,
  ceiling: 1_024,
  start: 64,
  tolerance: 1.5,
  probeEveryUs: 30 * US_PER_S,
};

const SMOOTHING = 0.2;
/** Samples that make a window, and the shortest time between two changes. */
const WINDOW_SAMPLES = 20;
const WINDOW_US = 200 * US_PER_MS;
/** A probe lasts until so many quiet samples, or so long. */
const PROBE_SAMPLES = 100;
const PROBE_US = 5 * US_PER_S;
/** What a failure for load leaves of the limit, at most once a window. */
const FAILURE_FACTOR = 0.9;
/**
 * A window while it doubles, as a share of the limit, half of which is new: most of those that a doubling has let in must
 * have answered, since the quick ones come first and more may never come, where answers last for minutes. Sooner if chance
 * leaves it clear on which side the ratio is.
 */
const FAST_SHARE = 0.48;
const CLEAR_SHARE = 0.4;
const CLEAR_ERRORS = 1.5;
const FAST_SAMPLES_MIN = 4;
/** From one probe to the next at least, where the limit has fallen. */
const FALL_PROBE_US = 5 * US_PER_S;
/** What a probe has to find, as a logarithm, for the fall before it to be no load. */
const SHIFT_MIN = Math.log(1.25);

export interface LatencySample {
  readonly inputTokens: number;
  readonly ttftUs: number;
  /** Requests in flight when this one began, itself included. */
  readonly inFlight: number;
  /** Whether somebody waits for a place: a limit that nobody runs into is not raised. */
  readonly isPressed: boolean;
}

export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions;
  readonly #quiet = new QuietLatency();
  #limit: number;
  /** Of requests that began in a full house, since the last change. */
  readonly #full = new SizedLogs();
  #isPressed = false;
  #changedUs = Number.NEGATIVE_INFINITY;
  #quietUs = Number.NEGATIVE_INFINITY;
  #probeUntilUs = Number.NEGATIVE_INFINITY;
  #probedUs = Number.NEGATIVE_INFINITY;
  /** What it was at the last probe, or has been since. */
  #highLimit: number;
  #isFast = true;
  /** What it falls back to at the first sign. */
  #leapedFrom: number;
  /** Where the doubling began: what was quiet there stays the measure until it ends. */
  #fastFrom: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: AdaptiveLimitOptions) {
    const { floor, ceiling, start, tolerance, probeEveryUs } = options;
    const inOrder = floor >= 1 && floor <= start && start <= ceiling;
    if (!(inOrder && tolerance >= 1 && probeEveryUs >= US_PER_S)) {
      throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
        where: "admission.concurrency",
        expected: "1 ≤ floor ≤ start ≤ ceiling, tolerance from 1, a probe each second at most",
        got: `${floor}, ${start}, ${ceiling}, ${tolerance}, ${probeEveryUs} µs`,
      });
    }
    this.#options = options;
    this.#limit = start;
    this.#highLimit = start;
    this.#leapedFrom = start;
    this.#fastFrom = start;
  }

  /** A whole number of places. */
  get places(): number {
    const { floor } = this.#options;
    return Math.max(floor, Math.floor(this.isProbing ? this.#limit / 2 : this.#limit));
  }

  get isProbing(): boolean {
    return this.#probeUntilUs !== Number.NEGATIVE_INFINITY;
  }

  sample({ inputTokens, ttftUs, inFlight, isPressed }: LatencySample, nowUs: number): void {
    // At the floor there is no less than a full house to compare with.
    const half = this.#isFast ? this.#fastFrom / 2 : this.#limit / 2;
    const quietMax = this.isProbing ? this.places : Math.max(1, half);
    if (inFlight <= quietMax) {
      this.#quiet.record(inputTokens, ttftUs);
      this.#quietUs = nowUs;
    } else if (inFlight > this.#limit / 2) {
      this.#full.record(inputTokens, ttftUs);
    }
    this.#isPressed ||= isPressed;
    // The first ones may answer after those that came when the house was fuller.
    if (this.#quietUs === Number.NEGATIVE_INFINITY) this.#quietUs = nowUs;
    if (this.isProbing) this.#endProbe(nowUs);
    else if (nowUs - this.#changedUs >= WINDOW_US) {
      const excess = this.#quiet.excessOf(this.#full);
      if (this.#isEnough(excess)) this.#change(excess, nowUs);
    }
    this.#maybeProbe(isPressed, nowUs);
  }

  /** The upstream failed or refused for load. */
  failed(nowUs: number): void {
    if (nowUs - this.#changedUs < WINDOW_US) return;
    this.#isFast = false;
    this.#limit = Math.max(this.#options.floor, this.#limit * FAILURE_FACTOR);
    this.#startWindow(nowUs);
  }

  #isEnough({ mean, error, samples }: Excess): boolean {
    if (!this.#isFast) return samples >= WINDOW_SAMPLES;
    const isClear = Math.abs(mean - Math.log(this.#options.tolerance)) > CLEAR_ERRORS * error;
    const share = isClear ? CLEAR_SHARE : FAST_SHARE;
    return samples >= Math.max(FAST_SAMPLES_MIN, Math.floor(share * this.#limit));
  }

  #change({ mean, error }: Excess, nowUs: number): void {
    const { floor, ceiling } = this.#options;
    const next = this.#isFast ? this.#leap(mean - error) : this.#step(Math.exp(mean));
    if (next < this.#limit || this.#isPressed) {
      this.#limit = Math.min(ceiling, Math.max(floor, next));
      this.#highLimit = Math.max(this.#highLimit, this.#limit);
    }
    this.#startWindow(nowUs);
  }

  #step(ratio: number): number {
    const gradient = Math.min(1, Math.max(0.5, this.#options.tolerance / ratio));
    const wanted = this.#limit * gradient + Math.sqrt(this.#limit) / 2;
    return this.#limit + (wanted - this.#limit) * SMOOTHING;
  }

  /** @param excess that is sure: what a leap too many costs is taken back after the next one, a leap too few never. */
  #leap(excess: number): number {
    if (excess > Math.log(this.#options.tolerance)) {
      this.#isFast = false;
      // Taken back, and not fallen: no reason to probe.
      this.#highLimit = this.#leapedFrom;
      return this.#leapedFrom;
    }
    if (this.#isPressed) this.#leapedFrom = this.#limit;
    return this.#limit * 2;
  }

  #leapFromHere(): void {
    this.#isFast = true;
    this.#leapedFrom = this.#limit;
    this.#fastFrom = this.#limit;
  }

  #startWindow(nowUs: number): void {
    this.#full.clear();
    this.#isPressed = false;
    this.#changedUs = nowUs;
  }

  #maybeProbe(isPressed: boolean, nowUs: number): void {
    if (!isPressed || this.isProbing) return;
    const isOld = nowUs - this.#quietUs >= this.#options.probeEveryUs;
    const hasFallen = this.#limit <= this.#highLimit / 2 && this.#limit > this.#options.floor;
    if (!isOld && !(hasFallen && nowUs - this.#probedUs >= FALL_PROBE_US)) return;
    this.#probeUntilUs = nowUs + PROBE_US;
    this.#quiet.beginProbe();
  }

  /** Samples of the full house before it do not count as the house after it. */
  #endProbe(nowUs: number): void {
    if (this.#quiet.probeSamples < PROBE_SAMPLES && nowUs < this.#probeUntilUs) return;
    if (this.#quiet.endProbe() > SHIFT_MIN) this.#leapFromHere();
    this.#probeUntilUs = Number.NEGATIVE_INFINITY;
    this.#probedUs = nowUs;
    this.#highLimit = this.#limit;
    this.#quietUs = nowUs;
    this.#startWindow(nowUs);
  }
}
