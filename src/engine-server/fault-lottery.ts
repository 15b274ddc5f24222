/**
 * Which request gets which of the configured faults. Each entry draws once for each request, hit or not, from numbers of
 * its own, so a run with the same seed and order of requests repeats, and a new entry leaves the others' draws alone.
 */
import { Random } from "../clock/index.ts";
import type { Fault, FaultShare } from "./fault.ts";

export class FaultLottery {
  readonly #entries: readonly { readonly one: FaultShare; readonly random: Random }[];

  constructor(shares: readonly FaultShare[], seed: number) {
    this.#entries = shares.map((one, i) => ({
      one,
      random: new Random(seed, `fault ${i} ${one.fault.kind}`),
    }));
  }

  /** For the next request; of two that hit, the first in the list. */
  draw(): Fault | undefined {
    let drawn: Fault | undefined;
    for (const { one, random } of this.#entries) {
      if (random.next() < one.share) drawn ??= one.fault;
    }
    return drawn;
  }
}
