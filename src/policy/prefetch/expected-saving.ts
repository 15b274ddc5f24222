/**
 * What a call that begins while the model thinks is worth. With G the time that the model thinks, T that of the tool, g that of
 * the guess, and α the share of calls that are guessed, "Optimizing Agentic Language Model Inference via Speculative Tool Calls"
 * (arXiv 2512.15834) gives for N calls one after the other
 *
 *     time = αN · max(G, g + T) + (1 − α)N · (G + T)
 *
 * so a hit saves G + T − max(G, g + T) = min(T, G − g). A hit costs no call, since its call would have run anyway; a miss costs
 * one. Hence the value of a start is p · E[min(T, G)] − (1 − p) · c, with c what a call in vain is worth in waiting time.
 */

export interface TurnTimes {
  /** α, 0 to 1. */
  readonly hitRate: number;
  /** N. */
  readonly calls: number;
  /** G, µs. */
  readonly thinkUs: number;
  /** T, µs. */
  readonly toolUs: number;
  /** g, µs; default 0: looking up a rule takes none. */
  readonly guessUs?: number;
}

/** µs for all calls, by the formula above. */
export function prefetchedTurnUs({
  hitRate,
  calls,
  thinkUs,
  toolUs,
  guessUs = 0,
}: TurnTimes): number {
  const hit = Math.max(thinkUs, guessUs + toolUs);
  return calls * (hitRate * hit + (1 - hitRate) * (thinkUs + toolUs));
}

/** µs that one start is worth; below 0 it does not pay. @param missUs c above. */
export function startValueUs(hitRate: number, savedUs: number, missUs: number): number {
  return hitRate * savedUs - (1 - hitRate) * missUs;
}

/** The hit rate at which a start is worth nothing. 1 where nothing can be saved. */
export function breakEvenRate(savedUs: number, missUs: number): number {
  return savedUs <= 0 ? 1 : missUs / (savedUs + missUs);
}
