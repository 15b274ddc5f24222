/**
 * What the first content takes in a half-empty house, by size of prompt: the mean of its logarithm, so that a cached prompt,
 * ten times as quick, weighs no more than one ten times as slow.
 *
 * A probe measures it anew. Its samples are too few to tell each size's mean (cached prompts spread the logarithms by more
 * than 1), but all of them together tell whether *everything* has shifted, by how much, and whether chance explains it.
 */
import { assert } from "../../core/index.ts";
import { type Excess, SizedLogs } from "./sized-logs.ts";

/**
 * A plain mean, and over many: who began together in a probe answers in the order of speed, so that a running mean would
 * know the slowest best.
 */
const SAMPLES_MAX = 128;
/** As how many samples the past counts after a probe. */
const PAST_KEPT = 16;
/** A shift has to be so many standard errors, of so many samples at least. */
const SURE_ERRORS = 3;
const SHIFT_SAMPLES_MIN = 20;

export class QuietLatency {
  readonly #known = new SizedLogs();
  readonly #probe = new SizedLogs();
  #isProbing = false;

  /** Of the probe that runs. */
  get probeSamples(): number {
    return this.#probe.samples;
  }

  record(inputTokens: number, ttftUs: number): void {
    if (this.#isProbing) this.#probe.record(inputTokens, ttftUs);
    else this.#known.record(inputTokens, ttftUs, SAMPLES_MAX);
  }

  /** @returns logarithm of TTFT over the quiet one, of these. */
  excessOf(logs: SizedLogs): Excess {
    return logs.over(this.#known);
  }

  beginProbe(): void {
    assert(!this.#isProbing, "one probe at a time");
    this.#isProbing = true;
  }

  /** @returns logarithm of the factor by which everything has become slower; 0 if chance explains it. */
  endProbe(): number {
    this.#isProbing = false;
    const { mean, error, samples } = this.#probe.over(this.#known);
    const isSure = samples >= SHIFT_SAMPLES_MIN && Math.abs(mean) > SURE_ERRORS * error;
    const shift = isSure ? mean : 0;
    this.#known.shift(shift);
    this.#known.fade(PAST_KEPT);
    this.#known.add(this.#probe);
    this.#probe.clear();
    return shift;
  }
}
