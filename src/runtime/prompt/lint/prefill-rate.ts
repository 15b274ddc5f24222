/**
 * Tokens of prompt that are computed in a second: how much later the first token came for each token that missed the cache.
 * From records that have usage and times, as the median of the slopes between pairs of requests (Theil 1950, Sen 1968), which
 * a few slow ones do not move; without enough of those, an assumption that is named as such.
 */

/** 50 ms for 1,000 tokens: an order of magnitude for large models behind an API. */
export const ASSUMED_TOKENS_PER_S = 20_000;
/** The newest; their pairs are some 45,000 slopes. */
const SAMPLES_MAX = 300;
const SAMPLES_MIN = 20;
/** Without longer and shorter prompts there is no slope. */
const SPREAD_MIN = 1_000;

export interface PrefillFigure {
  readonly tokensPerS: number;
  readonly source: "measured" | "given" | "assumed";
  /** Requests that it was measured on. */
  readonly n: number;
}

export class PrefillRate {
  readonly #given: number | null;
  readonly #samples: { readonly tokens: number; readonly us: number }[] = [];
  #next = 0;

  constructor(given: number | null) {
    this.#given = given;
  }

  /** @param tokens computed, not read. @param ttftUs to the first token. */
  add(tokens: number, ttftUs: number): void {
    this.#samples[this.#next % SAMPLES_MAX] = { tokens, us: ttftUs };
    this.#next += 1;
  }

  figure(): PrefillFigure {
    if (this.#given !== null) return { tokensPerS: this.#given, source: "given", n: 0 };
    const slopeUs = this.#slopeUs();
    if (slopeUs === null) return { tokensPerS: ASSUMED_TOKENS_PER_S, source: "assumed", n: 0 };
    const tokensPerS = Math.round(1_000_000 / slopeUs);
    return { tokensPerS, source: "measured", n: this.#samples.length };
  }

  #slopeUs(): number | null {
    const samples = this.#samples;
    const tokens = samples.map((sample) => sample.tokens);
    const isFlat = Math.max(...tokens) - Math.min(...tokens) < SPREAD_MIN;
    if (samples.length < SAMPLES_MIN || isFlat) return null;
    const slopes: number[] = [];
    for (const [i, a] of samples.entries()) {
      for (const b of samples.slice(i + 1)) {
        if (a.tokens !== b.tokens) slopes.push((b.us - a.us) / (b.tokens - a.tokens));
      }
    }
    const middle = slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)];
    return middle === undefined || middle <= 0 ? null : middle;
  }
}
