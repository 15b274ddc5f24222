/**
 * Times to first content by size of the prompt: prefill grows with it, so one percentile over all sizes would call every
 * long prompt slow and hedge it, and no short one ever.
 */
import { RecentQuantile } from "./recent-quantile.ts";

/** Upper ends of the classes in tokens; the last class is open. */
const CLASS_TOKENS = [512, 2_048, 8_192, 32_768, 131_072];
/** Fewer samples than this give no quantile worth acting on. */
const SAMPLES_MIN = 20;
/** About the last thousand calls of a class count. */
const HALF_LIFE = 500;

function sizeClass(tokens: number): number {
  let at = 0;
  while (at < CLASS_TOKENS.length && tokens > CLASS_TOKENS[at]!) at += 1;
  return at;
}

export class LatencyBySize {
  readonly #classes = Array.from(
    { length: CLASS_TOKENS.length + 1 },
    () => new RecentQuantile(HALF_LIFE),
  );

  record(tokens: number, durationUs: number): void {
    this.#classes[sizeClass(tokens)]!.record(durationUs);
  }

  /**
   * @returns of the prompt's own class, or of the nearest larger one that has enough samples (never of a smaller one, whose
   * times are too short); undefined if none has.
   */
  timesOf(tokens: number): RecentQuantile | undefined {
    for (let at = sizeClass(tokens); at < this.#classes.length; at += 1) {
      const times = this.#classes[at]!;
      if (times.count >= SAMPLES_MIN) return times;
    }
    return undefined;
  }

  /** @param share 0 to 1. @returns µs; NaN while too little is known. */
  quantileUs(tokens: number, share: number): number {
    return this.timesOf(tokens)?.quantileUs(share) ?? Number.NaN;
  }
}
