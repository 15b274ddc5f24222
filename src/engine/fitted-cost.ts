/**
 * What a step costs by eight numbers, as a fit to somebody's own engine finds them: no data sheet, no table.
 *
 *     stepUs + tokenUs · max(0, tokens − freeTokens)
 *            + prefillSequenceUs · prompts + prefillPairUs · pairs + prefillContextTokenUs · context read again by prompts
 *            + decodeSequenceUs · answers  + decodeContextTokenUs · context read by answers
 *
 * The one bend is where a step stops being bound by reading the weights: up to `freeTokens` tokens ride along for nothing.
 * With `freeTokens` held it is linear in the other seven, so that least squares can start from `fittedTerms`.
 *
 * Invariant: no coefficient is below zero, so a step never gets cheaper by having more in it.
 */
import type { Batch } from "./batch.ts";
import type { CostModel } from "./cost-model.ts";

/** All from 0. Times in µs, as fractions; a step's price is rounded once, at its end. */
export interface FittedCoefficients {
  /** Of every step: launches, sampling, the engine's own work, and reading the weights once. */
  readonly stepUs: number;
  /** Tokens of a step that cost nothing on top of that. */
  readonly freeTokens: number;
  /** Of each token beyond them, whether of a prompt, an answer or a draft. */
  readonly tokenUs: number;
  /** Of each prompt, or piece of one, in the step. */
  readonly prefillSequenceUs: number;
  /** Of each pair of query and key in prompts: a piece of n tokens on c computed ones has n · c + n · (n + 1) / 2. */
  readonly prefillPairUs: number;
  /** Of each computed token that a piece of a prompt reads again. */
  readonly prefillContextTokenUs: number;
  /** Of each answer, and of each draft, in the step. */
  readonly decodeSequenceUs: number;
  /** Of each token whose KV is read for an answer. */
  readonly decodeContextTokenUs: number;
}

export type CoefficientName = keyof FittedCoefficients;

/** Those that a step's price is linear in, in the order of `fittedTerms`: all but `freeTokens`. */
export const LINEAR_COEFFICIENTS = [
  "stepUs",
  "tokenUs",
  "prefillSequenceUs",
  "prefillPairUs",
  "prefillContextTokenUs",
  "decodeSequenceUs",
  "decodeContextTokenUs",
] as const satisfies readonly CoefficientName[];

export const COEFFICIENT_NAMES: readonly CoefficientName[] = ["freeTokens", ...LINEAR_COEFFICIENTS];

/** What each of `LINEAR_COEFFICIENTS` is multiplied by for this step. For a fit; pricing takes no list. */
export function fittedTerms(batch: Batch, freeTokens: number): number[] {
  return [
    1,
    Math.max(0, batch.tokens - freeTokens),
    batch.prefillSequences,
    batch.prefillPairs,
    batch.prefillContext,
    batch.decodeSequences + batch.draftTokens,
    batch.decodeContext,
  ];
}

export class FittedCost implements CostModel {
  readonly name = "fitted";
  readonly coefficients: FittedCoefficients;

  /** Trusts its numbers; those of a document go through `readFittedCost` first. */
  constructor(coefficients: FittedCoefficients) {
    this.coefficients = coefficients;
  }

  stepUs(batch: Batch): number {
    const by = this.coefficients;
    const us =
      by.stepUs +
      by.tokenUs * Math.max(0, batch.tokens - by.freeTokens) +
      by.prefillSequenceUs * batch.prefillSequences +
      by.prefillPairUs * batch.prefillPairs +
      by.prefillContextTokenUs * batch.prefillContext +
      by.decodeSequenceUs * (batch.decodeSequences + batch.draftTokens) +
      by.decodeContextTokenUs * batch.decodeContext;
    return Math.max(1, Math.round(us));
  }
}
