/**
 * The twin's schedule of one replay as a fit sees it: for each step when it ran and by what its price is linear in the
 * coefficients. Sums of steps between two instants are differences of running sums, so that the time from a request's first
 * token to its last is one row of a least-squares problem: what the schedule says was done, against what the log says
 * it took.
 */
import { assert } from "../../core/index.ts";
import {
  type Batch,
  type CostModel,
  type FittedCoefficients,
  FittedCost,
  fittedTerms,
  LINEAR_COEFFICIENTS,
} from "../../engine/index.ts";
import { BENDS } from "./bends.ts";

export const TERMS = LINEAR_COEFFICIENTS.length;
/** The terms, then the tokens beyond each of `BENDS`, which stand in for one of them. */
export const COLUMNS = TERMS + BENDS.length;
/** Place of the term that the bend is in. */
export const BENT_TERM = LINEAR_COEFFICIENTS.indexOf("tokenUs");

/** Prices steps like the coefficients, and keeps book. Serves one engine. */
export class StepLedger implements CostModel {
  readonly name = "fitted";
  readonly #cost: FittedCost;
  readonly #nowUs: () => number;
  readonly #stepsMax: number;
  readonly #startUs: number[] = [];
  readonly #endUs: number[] = [];
  /** By step: running sums of the columns, the step's own included. */
  readonly #sums: number[] = [];

  /** @param nowUs the engine's clock. */
  constructor(coefficients: FittedCoefficients, nowUs: () => number, stepsMax: number) {
    this.#cost = new FittedCost(coefficients);
    this.#nowUs = nowUs;
    this.#stepsMax = stepsMax;
  }

  get steps(): number {
    return this.#startUs.length;
  }

  stepUs(batch: Batch): number {
    const us = this.#cost.stepUs(batch);
    const startUs = this.#nowUs();
    assert(this.steps < this.#stepsMax, `a fit replays at most ${this.#stepsMax} steps`);
    this.#startUs.push(startUs);
    this.#endUs.push(startUs + us);
    const terms = fittedTerms(batch, this.#cost.coefficients.freeTokens);
    const { tokens } = batch;
    for (const term of terms) this.#push(term);
    for (const bend of BENDS) this.#push(Math.max(0, tokens - bend));
    return us;
  }

  #push(value: number): void {
    const before = this.#sums.length - COLUMNS;
    this.#sums.push((before < 0 ? 0 : this.#sums[before]!) + value);
  }

  /** Writes the columns of what ran between two instants into `into`; steps that stick out count by their share. */
  between(fromUs: number, toUs: number, into: Float64Array): void {
    into.fill(0, 0, COLUMNS);
    this.#add(toUs, 1, into);
    this.#add(fromUs, -1, into);
  }

  #add(atUs: number, sign: number, into: Float64Array): void {
    const step = this.#stepAt(atUs);
    if (step < 0) return;
    const startUs = this.#startUs[step]!;
    const share = Math.min(1, (atUs - startUs) / (this.#endUs[step]! - startUs));
    const at = step * COLUMNS;
    for (let i = 0; i < COLUMNS; i += 1) {
      const before = step === 0 ? 0 : this.#sums[at - COLUMNS + i]!;
      into[i]! += sign * (before + share * (this.#sums[at + i]! - before));
    }
  }

  /** The last step that began before `atUs`; −1 if none had. */
  #stepAt(atUs: number): number {
    let low = 0;
    let high = this.#startUs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#startUs[middle]! < atUs) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
