/**
 * The before-and-after table that this demo is held against: an unsigned article on four-layer treatment of P99 in
 * multi-agent inference, "default configuration, static batching" against "keep-alive + continuous batching + paged
 * attention". It names neither model nor hardware, workload or rates, so only direction and ratio can be compared.
 */
export const PUBLISHED_SOURCE =
  "unsigned article on four-layer P99 treatment; no model, hardware, workload or rates given";

export interface PublishedFigure {
  readonly before: number;
  readonly after: number;
  /** Improvement, above 1 if the treatment helps. */
  readonly ratio: number;
}

const faster = (beforeUs: number, afterUs: number): PublishedFigure => ({
  before: beforeUs,
  after: afterUs,
  ratio: beforeUs / afterUs,
});

const higher = (before: number, after: number): PublishedFigure => ({
  before,
  after,
  ratio: after / before,
});

export const PUBLISHED = {
  ttftP99: faster(2_850_000, 380_000),
  itlP99: faster(48_500, 16_200),
  e2eP99: faster(38_400_000, 11_200_000),
  kvLiveShare: higher(0.324, 0.948),
  peakPerS: higher(240, 1_150),
} as const;
