/**
 * Whether one more call that only keeps a prefix in the cache is worth its price. With arrivals at random at a rate λ, a lifetime
 * L and s gone since the last use, the call changes something only if the next arrival comes after the entry would have
 * ended and before the renewed one does:
 *
 *     last use        now          old end           new end
 *        |─────s───────|─────L−s──────|────────s────────|
 *                                     ^^^^ here: a read in place of a write
 *
 *     p = e^(−λ(L−s)) − e^(−λL)        saved = p · T · (w − r)        cost = T · r
 *
 * for T tokens, w the price of a token written and r of one read, in tokens of input. Where much arrives p is small, since
 * arrivals keep the entry alive themselves; where little does, since nobody comes in time: both end the calls. Arrivals that are
 * not at random (bursts, office hours) make it worth less than it says; the rate that falls while nobody comes bounds the loss.
 */

export interface KeepAliveFacts {
  /** Arrivals in a second. */
  readonly perS: number;
  /** Since the entry was last written or read. */
  readonly sinceUs: number;
  readonly lifetimeUs: number;
  /** Of the prefix. */
  readonly tokens: number;
  readonly writeFactor: number;
  readonly readFactor: number;
  /** What an early first token is worth, in tokens of input for each token that need not be computed. Default 0. */
  readonly latencyFactor?: number;
}

export interface KeepAliveWorth {
  readonly pays: boolean;
  /** That the call turns the next arrival from a miss into a hit. */
  readonly probability: number;
  /** Expected, in tokens of input. */
  readonly savedTokens: number;
  /** In tokens of input. */
  readonly costTokens: number;
}

const US_PER_S = 1_000_000;

export function keepAliveWorth(facts: KeepAliveFacts): KeepAliveWorth {
  const { perS, sinceUs, lifetimeUs, tokens, writeFactor, readFactor } = facts;
  const leftS = Math.max(0, lifetimeUs - sinceUs) / US_PER_S;
  const wholeS = lifetimeUs / US_PER_S;
  const probability = Math.exp(-perS * leftS) - Math.exp(-perS * wholeS);
  const savedEach = writeFactor - readFactor + (facts.latencyFactor ?? 0);
  const savedTokens = probability * tokens * savedEach;
  const costTokens = tokens * readFactor;
  return { pays: savedTokens > costTokens, probability, savedTokens, costTokens };
}
