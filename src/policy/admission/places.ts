/**
 * Places in flight and which lane may take one. Of `total` places each of L lanes is guaranteed one and its share of the
 * other total − L; what nobody is guaranteed is anybody's. A lane below its guarantee may always start one, even while the
 * house is over a limit that has just fallen: the long ones that fill it may stay for minutes.
 *
 * Bound: never more in flight than the largest total so far plus L − 1, which is what rounding the shares can add; with
 * a fixed total never more than that.
 */

import { AdaptiveLimit, type LatencySample } from "./adaptive-limit.ts";
import type { AdmissionSettings } from "./admission-options.ts";
import type { Lane } from "./lane.ts";

export class Places {
  readonly #lanes: readonly Lane[];
  readonly #adaptive: AdaptiveLimit | undefined;
  #total: number;
  #inFlight = 0;

  constructor(lanes: readonly Lane[], concurrency: AdmissionSettings["concurrency"]) {
    this.#lanes = lanes;
    this.#adaptive = concurrency.kind === "adaptive" ? new AdaptiveLimit(concurrency) : undefined;
    this.#total = concurrency.kind === "fixed" ? concurrency.limit : concurrency.start;
    this.#share();
  }

  get total(): number {
    return this.#total;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  has(lane: Lane): boolean {
    if (lane.inFlight < lane.guaranteed) return true;
    let taken = 0;
    for (const one of this.#lanes) taken += Math.max(one.inFlight, one.guaranteed);
    return taken < this.#total;
  }

  take(lane: Lane, tokens: number): void {
    lane.inFlight += 1;
    lane.tokensInFlight += tokens;
    this.#inFlight += 1;
  }

  free(lane: Lane, tokens: number): void {
    lane.inFlight -= 1;
    lane.tokensInFlight -= tokens;
    this.#inFlight -= 1;
  }

  sample(sample: LatencySample, nowUs: number): void {
    this.#adaptive?.sample(sample, nowUs);
    this.#adopt();
  }

  failed(nowUs: number): void {
    this.#adaptive?.failed(nowUs);
    this.#adopt();
  }

  #adopt(): void {
    if (this.#adaptive === undefined || this.#adaptive.places === this.#total) return;
    this.#total = this.#adaptive.places;
    this.#share();
  }

  #share(): void {
    const rest = this.#total - this.#lanes.length;
    for (const lane of this.#lanes) lane.guaranteed = 1 + Math.floor(lane.options.share * rest);
  }
}
