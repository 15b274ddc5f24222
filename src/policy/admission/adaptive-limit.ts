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
 * pressure the limit is halved for a moment every `probeEveryUs`, never below the floor.
 *
 * Only the upstream's own time counts. A slow reader keeps its place for long but does not lengthen anybody's time to first
 * content, so it lowers no limit; it can only be in the way, for which the limit then grows.
 */
import { ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";

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
/** Prompts up to 2^22 tokens, a class for each doubling. */
const SIZES = 23;
/**
 * Quiet samples of a size at which all of them begin to weigh half. A plain mean, and over many: cached prompts spread the
 * logarithms by more than 1, and who began together in a probe answers in the order of speed, so that a running mean would
 * know the slowest best.
 */
const QUIET_MAX = 128;
/** As how many samples the past counts when a probe begins, so that the probe outweighs it. */
const QUIET_KEPT = 16;
const QUIET_MIN = 5;

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
  readonly #quietSum = new Float64Array(SIZES);
  readonly #quietCount = new Float64Array(SIZES);
  #limit: number;
  #logSum = 0;
  #samples = 0;
  #isPressed = false;
  #changedUs = Number.NEGATIVE_INFINITY;
  #quietUs = Number.NEGATIVE_INFINITY;
  #probeUntilUs = Number.NEGATIVE_INFINITY;
  #probeSamples = 0;

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
  }

  /** A whole number of places. */
  get places(): number {
    const { floor } = this.#options;
    return Math.max(floor, Math.floor(this.isProbing ? this.#limit / 2 : this.#limit));
  }

  get isProbing(): boolean {
    return this.#probeUntilUs !== Number.NEGATIVE_INFINITY;
  }

  sample(sample: LatencySample, nowUs: number): void {
    const size = Math.min(SIZES - 1, 31 - Math.clz32(Math.max(1, sample.inputTokens)));
    const log = Math.log(Math.max(1, sample.ttftUs));
    // At the floor there is no less than a full house to compare with.
    const quietMax = this.isProbing ? this.places : Math.max(1, this.#limit / 2);
    if (sample.inFlight <= quietMax) this.#quiet(size, log, nowUs);
    else if (this.#quietCount[size]! >= QUIET_MIN) {
      this.#logSum += log - this.#quietSum[size]! / this.#quietCount[size]!;
      this.#samples += 1;
    }
    this.#isPressed ||= sample.isPressed;
    if (this.isProbing) this.#endProbe(nowUs);
    else if (this.#samples >= WINDOW_SAMPLES && nowUs - this.#changedUs >= WINDOW_US) {
      this.#change(Math.exp(this.#logSum / this.#samples), nowUs);
    }
    this.#maybeProbe(sample.isPressed, nowUs);
  }

  /** The upstream failed or refused for load. */
  failed(nowUs: number): void {
    if (nowUs - this.#changedUs < WINDOW_US) return;
    this.#limit = Math.max(this.#options.floor, this.#limit * FAILURE_FACTOR);
    this.#startWindow(nowUs);
  }

  #quiet(size: number, log: number, nowUs: number): void {
    this.#quietSum[size]! += log;
    this.#quietCount[size]! += 1;
    if (this.#quietCount[size]! >= QUIET_MAX) this.#fade(size, QUIET_MAX / 2);
    this.#probeSamples += 1;
    this.#quietUs = nowUs;
  }

  /** Its samples count as `kept` at most; their mean stays. */
  #fade(size: number, kept: number): void {
    const count = this.#quietCount[size]!;
    if (count <= kept) return;
    this.#quietSum[size]! *= kept / count;
    this.#quietCount[size] = kept;
  }

  #change(ratio: number, nowUs: number): void {
    const { floor, ceiling, tolerance } = this.#options;
    const gradient = Math.min(1, Math.max(0.5, tolerance / ratio));
    const wanted = this.#limit * gradient + Math.sqrt(this.#limit) / 2;
    const next = this.#limit + (wanted - this.#limit) * SMOOTHING;
    if (next < this.#limit || this.#isPressed) {
      this.#limit = Math.min(ceiling, Math.max(floor, next));
    }
    this.#startWindow(nowUs);
  }

  #startWindow(nowUs: number): void {
    this.#logSum = 0;
    this.#samples = 0;
    this.#isPressed = false;
    this.#changedUs = nowUs;
  }

  /** Also at the very start, when a full house has nothing to be compared with. */
  #maybeProbe(isPressed: boolean, nowUs: number): void {
    const { probeEveryUs } = this.#options;
    if (!isPressed || this.isProbing || nowUs - this.#quietUs < probeEveryUs) return;
    this.#probeUntilUs = nowUs + PROBE_US;
    this.#probeSamples = 0;
    for (let size = 0; size < SIZES; size += 1) this.#fade(size, QUIET_KEPT);
  }

  /** Samples of the full house before it do not count as the house after it. */
  #endProbe(nowUs: number): void {
    if (this.#probeSamples < PROBE_SAMPLES && nowUs < this.#probeUntilUs) return;
    this.#probeUntilUs = Number.NEGATIVE_INFINITY;
    this.#quietUs = nowUs;
    this.#startWindow(nowUs);
  }
}
