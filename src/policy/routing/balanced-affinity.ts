/**
 * Prefix affinity that cannot make a hot spot. Each replica is charged for what stands before a new request, in tokens, and
 * credited for what the request would find in its cache; the best balance wins.
 *
 *     charge = (open + 3 × pending + prompt) / weight + handicap
 *     credit = min(slack, 10 × prompt tokens that it holds)
 *     score  = credit / slack − (charge − least charge) / slack
 *
 * `weight` (0 to 1) and `handicap` are the health of a replica: 1 and 0 of a healthy one.
 *
 * Bound: since credit ≤ slack, a replica is picked only if its charge ≤ least charge + slack. Of healthy replicas that is
 *
 *     open + 3 × pending  ≤  the same of any other healthy replica + slack        (before the request is added)
 *
 * whatever the index believes and however hot a prefix is. Equal scores go round. The decision record
 * docs/decisions/2026-11-29-routing-score.md says where the form and the three numbers come from.
 */
import { assert } from "../../core/index.ts";
import { BlockIndex } from "./block-index.ts";
import type { RoutedRequest, Router } from "./router.ts";

export interface BalancedAffinityOptions {
  /**
   * How much more than the lightest replica one may carry and still draw a request by what it holds, in open tokens.
   * Default 262,144, about half of the KV memory of an 80 GB GPU with an 8 B model.
   */
  readonly slackTokens?: number;
  /** Open tokens that a prompt token found in the cache outweighs. Default 10. */
  readonly savedWorth?: number;
  /** What a token counts more until it is computed. Default 3. */
  readonly pendingWeight?: number;
  /** KV of one replica; by default as much as the index remembers. */
  readonly cacheTokens?: number;
  /** Bound of the index. Default 32 MiB. */
  readonly indexBytesMax?: number;
}

/** What is known of a replica beside its load. */
export interface Standing {
  /** May be picked at all. */
  readonly isOpen: boolean;
  /** Its speed as a share of a healthy one's: above 0, at most 1. */
  readonly weight: number;
  /** Added to its charge. */
  readonly handicapTokens: number;
}

export interface FleetLoad {
  /** By replica, as of `Router.pick`. */
  readonly openTokens: ArrayLike<number>;
  readonly pendingTokens?: ArrayLike<number> | undefined;
  /** By replica; all healthy if left out. */
  readonly standings?: readonly Standing[];
}

const HEALTHY: Standing = { isOpen: true, weight: 1, handicapTokens: 0 };
const INDEX_BYTES_MAX = 32 * 2 ** 20;

export class BalancedAffinity implements Router {
  readonly name = "balanced";
  readonly slackTokens: number;
  newTokens = 0;
  readonly #savedWorth: number;
  readonly #pendingWeight: number;
  readonly #cacheTokens: number | undefined;
  readonly #indexBytesMax: number;
  /** Made at the first pick, when the number of replicas is known. */
  #index: BlockIndex | undefined;
  #held = new Int32Array(0);
  #charges = new Float64Array(0);
  #start = 0;

  constructor(options: BalancedAffinityOptions = {}) {
    this.slackTokens = options.slackTokens ?? 262_144;
    this.#savedWorth = options.savedWorth ?? 10;
    this.#pendingWeight = options.pendingWeight ?? 3;
    this.#cacheTokens = options.cacheTokens;
    this.#indexBytesMax = options.indexBytesMax ?? INDEX_BYTES_MAX;
    assert(this.slackTokens > 0, "the slack is above zero");
    assert(this.#savedWorth >= 0 && this.#pendingWeight >= 0, "weights are zero or more");
  }

  pick(
    request: RoutedRequest,
    openTokens: readonly number[],
    pendingTokens?: readonly number[],
  ): number {
    const picked = this.choose(request, { openTokens, pendingTokens });
    assert(picked !== undefined, "there is a replica");
    return picked;
  }

  /** @returns undefined if no replica is open. */
  choose(request: RoutedRequest, load: FleetLoad): number | undefined {
    const replicas = load.openTokens.length;
    const index = this.index(replicas);
    index.match(request.prefixIds, this.#held);
    const least = this.#charge(request.tokens ?? 0, load);
    let best: number | undefined;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < replicas; i += 1) {
      const replica = (this.#start + i) % replicas;
      // A closed one has an endless charge, and so never a higher score than none at all.
      const score = this.#credit(request, replica) - (this.#charges[replica]! - least);
      if (score > bestScore) {
        best = replica;
        bestScore = score;
      }
    }
    if (best === undefined) return undefined;
    this.#start = (best + 1) % replicas;
    const blocks = Math.max(1, request.prefixIds.length);
    this.newTokens = Math.round((request.tokens ?? 0) * (1 - this.#held[best]! / blocks));
    index.remember(request.prefixIds, best, this.newTokens);
    return best;
  }

  /** @param replicas of the fleet, the same at every call. */
  index(replicas: number): BlockIndex {
    if (this.#index !== undefined) {
      assert(replicas === this.#held.length, "a fleet keeps its size");
      return this.#index;
    }
    const index = new BlockIndex({ replicas, bytesMax: this.#indexBytesMax });
    if (this.#cacheTokens !== undefined) {
      for (let replica = 0; replica < replicas; replica += 1) {
        index.setCache(replica, this.#cacheTokens);
      }
    }
    this.#index = index;
    this.#held = new Int32Array(replicas);
    this.#charges = new Float64Array(replicas);
    return index;
  }

  /** Fills `#charges`. @returns the least of them. */
  #charge(tokens: number, { openTokens, pendingTokens, standings }: FleetLoad): number {
    let least = Number.POSITIVE_INFINITY;
    for (let replica = 0; replica < openTokens.length; replica += 1) {
      const { isOpen, weight, handicapTokens } = standings?.[replica] ?? HEALTHY;
      const pending = pendingTokens?.[replica] ?? 0;
      const before = openTokens[replica]! + this.#pendingWeight * pending + tokens;
      const charge = isOpen ? before / weight + handicapTokens : Number.POSITIVE_INFINITY;
      this.#charges[replica] = charge;
      if (charge < least) least = charge;
    }
    return least;
  }

  #credit({ prefixIds, tokens }: RoutedRequest, replica: number): number {
    if (prefixIds.length === 0) return 0;
    const share = this.#held[replica]! / prefixIds.length;
    // Of a prompt whose length nobody knows, the share alone counts.
    if (tokens === undefined) return share * this.slackTokens;
    return Math.min(this.slackTokens, this.#savedWorth * share * tokens);
  }
}
