/**
 * Pays for calls in vain, as a share of what the calls of the model cost. A start is paid for when it is made, and gets its
 * money back if the model asks for it: so the bound holds at every instant, not on average.
 *
 * Invariant: wasted + held ≤ share × asked.
 */
import { assert } from "../../core/index.ts";

/** Cost that may be saved up, so that a long quiet stretch does not pay for a storm. */
const SAVED_MAX = 32;
/** Twenty payments of 0.05 are worth one call. */
const HAIR = 1e-9;

export class WastePurse {
  readonly #share: number;
  #saved = 0;
  /** Cost of the model's own calls. */
  asked = 0;
  /** Cost of starts that nobody asked for. */
  wasted = 0;
  /** Cost of starts whose end is open. */
  held = 0;

  constructor(share: number) {
    this.#share = share;
  }

  /** The model has asked for a call. */
  earn(cost: number): void {
    this.asked += cost;
    this.#saved = Math.min(
      Math.max(this.#saved, SAVED_MAX * cost),
      this.#saved + this.#share * cost,
    );
  }

  /** @returns whether there was enough; it is held then until `close`. */
  tryHold(cost: number): boolean {
    if (this.#saved + HAIR < cost) return false;
    this.#saved -= cost;
    this.held += cost;
    return true;
  }

  close(cost: number, isWasted: boolean): void {
    assert(this.held + HAIR >= cost, "what is closed was held");
    this.held -= cost;
    if (isWasted) this.wasted += cost;
    else this.#saved += cost;
  }
}
