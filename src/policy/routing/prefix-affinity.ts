/** Prefix affinity in its simplest form: the share of the prompt that a replica was sent before, less a charge for load. */
import { assert } from "../../core/index.ts";
import { lightest } from "./lightest.ts";
import type { RoutedRequest, Router } from "./router.ts";

export interface PrefixAffinityOptions {
  /**
   * How much work a replica may have more than the lightest one before even a whole prefix cannot draw a request to it, in
   * tokens. Default 32,768.
   */
  readonly slackTokens?: number;
  /** Most prefix names remembered; the least recently used is forgotten. Default 1,000,000. */
  readonly namesMax?: number;
}

/**
 * Where the longest part of the prefix was last seen, less a charge for load: score = matched share − (open − least open) /
 * slack. A matched share is at most 1, so no replica is ever given a request while it has more than `slackTokens` above
 * the lightest one: affinity makes no hot spots. Names are remembered as sent, not as cached, so the index is a guess that
 * costs a miss when wrong.
 */
export class PrefixAffinity implements Router {
  readonly name = "prefix";
  readonly slackTokens: number;
  readonly #namesMax: number;
  /** Replicas by name as bits; in order of last use. */
  readonly #seen = new Map<number, number>();
  #start = 0;

  constructor(options: PrefixAffinityOptions = {}) {
    this.slackTokens = options.slackTokens ?? 32_768;
    this.#namesMax = options.namesMax ?? 1_000_000;
    assert(this.slackTokens > 0 && this.#namesMax > 0, "slack and names are above zero");
  }

  pick(request: RoutedRequest, openTokens: readonly number[]): number {
    const replicas = openTokens.length;
    assert(replicas >= 1 && replicas <= 31, "prefix affinity knows 1 to 31 replicas");
    const matched = this.#matchedPieces(request.prefixIds, replicas);
    const least = openTokens[lightest(openTokens, 0)]!;
    const pieces = Math.max(1, request.prefixIds.length);
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < replicas; i += 1) {
      const replica = (this.#start + i) % replicas;
      const excess = (openTokens[replica]! - least) / this.slackTokens;
      const score = matched[replica]! / pieces - excess;
      if (score > bestScore) {
        best = replica;
        bestScore = score;
      }
    }
    this.#start = (best + 1) % replicas;
    this.#remember(request.prefixIds, best);
    return best;
  }

  /** Leading pieces that each replica has been sent without a gap. */
  #matchedPieces(prefixIds: readonly number[], replicas: number): number[] {
    const matched = new Array<number>(replicas).fill(0);
    let alive = 2 ** replicas - 1;
    for (let depth = 0; depth < prefixIds.length && alive !== 0; depth += 1) {
      alive &= this.#seen.get(prefixIds[depth]!) ?? 0;
      for (let replica = 0; replica < replicas; replica += 1) {
        if ((alive & (1 << replica)) !== 0) matched[replica] = depth + 1;
      }
    }
    return matched;
  }

  #remember(prefixIds: readonly number[], replica: number): void {
    for (const name of prefixIds) {
      const before = this.#seen.get(name) ?? 0;
      this.#seen.delete(name);
      this.#seen.set(name, before | (1 << replica));
    }
    while (this.#seen.size > this.#namesMax) {
      const oldest = this.#seen.keys().next().value;
      if (oldest === undefined) break;
      this.#seen.delete(oldest);
    }
  }
}
