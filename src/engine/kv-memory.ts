/**
 * The KV memory: who has how much of it. Two ways to divide it, one interface, so that either can stand under any
 * scheduler. Invariant of both: free + reserved = total after every call, and nothing is taken unless all of it is there.
 */
import { assert } from "../core/index.ts";
import type { EngineRequest } from "./request.ts";

export interface KvMemory {
  readonly name: "contiguous" | "paged" | "prefix" | "radix";
  readonly totalTokens: number;
  /** Set aside for requests; what is only kept for later reuse does not count. */
  readonly reservedTokens: number;
  /** Tokens that more than one request holds, counted once for each holder but the first. */
  readonly sharedTokens: number;
  /** Whether an empty memory could hold this many tokens for one request. */
  canEverHold(tokens: number): boolean;
  /**
   * How many tokens from the start of what the request has so far could be taken over instead of computed now: less
   * than all of them, since the last one has to be computed to yield the next.
   */
  match(request: EngineRequest): number;
  /**
   * Lets a waiting request in: takes over `cached` tokens, the answer of `match` just before, and makes room for `tokens`
   * in all. Answers false and changes nothing if there is no room for `fitTokens` (default and least: `tokens`), which are
   * only looked for, not taken.
   */
  admit(request: EngineRequest, tokens: number, cached: number, fitTokens?: number): boolean;
  /** Makes the request's reservation cover `tokens` tokens. Answers false and changes nothing if there is no room. */
  reserve(request: EngineRequest, tokens: number): boolean;
  /** Told once `request.computed` has reached `request.sealTokens`: more of it can be found by others from now on. */
  seal(request: EngineRequest): void;
  /** `again` if the request was thrown out and will be back. */
  release(request: EngineRequest, again?: boolean): void;
  /** @throws MANX_INTERNAL if what `holders` have does not add up to what is reserved. */
  check(holders: Iterable<EngineRequest>): void;
}

/** Sum of reservations; shared by the checks. */
export function heldTokens(holders: Iterable<EngineRequest>): number {
  let held = 0;
  for (const request of holders) {
    assert(request.reservedTokens >= request.computed, "a reservation covers the computed tokens");
    held += request.reservedTokens;
  }
  return held;
}

/** A memory in which every request has its own, and nothing outlives it. */
abstract class PrivateKv {
  readonly sharedTokens = 0;

  abstract reserve(request: EngineRequest, tokens: number): boolean;
  /** Whether `reserve` would answer true. */
  abstract fits(request: EngineRequest, tokens: number): boolean;

  match(): number {
    return 0;
  }

  admit(request: EngineRequest, tokens: number, _cached: number, fitTokens = tokens): boolean {
    return this.fits(request, fitTokens) && this.reserve(request, tokens);
  }

  seal(): void {
    assert(false, "nothing is sealed in a private memory");
  }
}

/**
 * One stretch of the longest allowed length per request, whatever it will use: how engines did it before paging. A
 * request that turns out short wastes the rest, and none can be longer than a stretch.
 */
export class ContiguousKv extends PrivateKv implements KvMemory {
  readonly name = "contiguous";
  readonly totalTokens: number;
  readonly stretchTokens: number;
  #free: number;

  constructor(totalTokens: number, stretchTokens: number) {
    super();
    this.stretchTokens = stretchTokens;
    this.#free = Math.floor(totalTokens / stretchTokens);
    this.totalTokens = this.#free * stretchTokens;
  }

  get reservedTokens(): number {
    return this.totalTokens - this.#free * this.stretchTokens;
  }

  canEverHold(tokens: number): boolean {
    return tokens <= this.stretchTokens && this.totalTokens > 0;
  }

  fits(request: EngineRequest, tokens: number): boolean {
    if (tokens <= request.reservedTokens) return true;
    return tokens <= this.stretchTokens && this.#free > 0;
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    if (tokens <= request.reservedTokens) return true;
    if (!this.fits(request, tokens)) return false;
    assert(request.reservedTokens === 0, "a request has at most one stretch");
    this.#free -= 1;
    request.reservedTokens = this.stretchTokens;
    return true;
  }

  release(request: EngineRequest): void {
    if (request.reservedTokens === 0) return;
    this.#free += 1;
    request.reservedTokens = 0;
  }

  check(holders: Iterable<EngineRequest>): void {
    assert(this.#free >= 0, "no stretch is given out twice");
    assert(heldTokens(holders) === this.reservedTokens, "stretches are conserved");
  }
}

/**
 * Blocks of a fixed number of tokens, taken one by one as a request grows (PagedAttention, Kwon et al., SOSP 2023): at most
 * one block less one token per request is idle.
 */
export class PagedKv extends PrivateKv implements KvMemory {
  readonly name = "paged";
  readonly totalTokens: number;
  readonly blockTokens: number;
  #free: number;

  constructor(totalTokens: number, blockTokens: number) {
    super();
    this.blockTokens = blockTokens;
    this.#free = Math.floor(totalTokens / blockTokens);
    this.totalTokens = this.#free * blockTokens;
  }

  get reservedTokens(): number {
    return this.totalTokens - this.#free * this.blockTokens;
  }

  get freeBlocks(): number {
    return this.#free;
  }

  canEverHold(tokens: number): boolean {
    return Math.ceil(tokens / this.blockTokens) * this.blockTokens <= this.totalTokens;
  }

  fits(request: EngineRequest, tokens: number): boolean {
    return Math.ceil((tokens - request.reservedTokens) / this.blockTokens) <= this.#free;
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    const missing = Math.ceil((tokens - request.reservedTokens) / this.blockTokens);
    if (missing <= 0) return true;
    if (missing > this.#free) return false;
    this.#free -= missing;
    request.reservedTokens += missing * this.blockTokens;
    return true;
  }

  release(request: EngineRequest): void {
    this.#free += request.reservedTokens / this.blockTokens;
    request.reservedTokens = 0;
  }

  check(holders: Iterable<EngineRequest>): void {
    assert(this.#free >= 0, "no block is given out twice");
    assert(heldTokens(holders) === this.reservedTokens, "blocks are conserved");
  }
}
