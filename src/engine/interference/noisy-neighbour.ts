/**
 * Somebody else on the same GPU, whose load comes and goes: on and off for exponential times, and while it is on it takes
 * a fixed share of the GPU's time. The same seed gives the same neighbour, whatever the engine does beside it.
 */
import { Random } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import type { Interference } from "./interference.ts";

export interface Neighbour {
  /** Of the GPU's time while it is on, above 0 to 0.95. */
  readonly share: number;
  /** Mean times, µs, above 0. */
  readonly onUs: number;
  readonly offUs: number;
}

const SHARE_MAX = 0.95;

export class NoisyNeighbour implements Interference {
  readonly #neighbour: Neighbour;
  readonly #random: Random;
  #isOn: boolean;
  #untilUs = 0;

  /** @param purpose tells the neighbours of several engines apart. @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(neighbour: Neighbour, seed: number, purpose = "") {
    checkNeighbour(neighbour);
    const { onUs, offUs } = neighbour;
    this.#neighbour = neighbour;
    this.#random = new Random(seed, `neighbour ${purpose}`);
    // As if it had been there for ever; that its first piece is a whole one is no matter, since it has no memory.
    this.#isOn = this.#random.next() < onUs / (onUs + offUs);
    this.#untilUs = this.#lengthUs();
  }

  leftAt(atUs: number): number {
    this.#advance(atUs);
    return this.#isOn ? 1 - this.#neighbour.share : 1;
  }

  changesUs(atUs: number): number {
    this.#advance(atUs);
    return this.#untilUs;
  }

  #advance(atUs: number): void {
    while (this.#untilUs <= atUs) {
      this.#isOn = !this.#isOn;
      this.#untilUs += this.#lengthUs();
    }
  }

  #lengthUs(): number {
    const { onUs, offUs } = this.#neighbour;
    return Math.max(1, Math.round(this.#random.exponential(this.#isOn ? onUs : offUs)));
  }
}

function checkNeighbour({ share, onUs, offUs }: Neighbour): void {
  const refuse = (where: string, expected: string, got: number): never => {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", { where, expected, got: String(got) });
  };
  if (!(share > 0 && share <= SHARE_MAX)) {
    refuse("neighbour.share", `a share above 0, at most ${SHARE_MAX}`, share);
  }
  if (!(onUs > 0 && Number.isFinite(onUs))) refuse("neighbour.onUs", "a time above 0", onUs);
  if (!(offUs > 0 && Number.isFinite(offUs))) refuse("neighbour.offUs", "a time above 0", offUs);
}
