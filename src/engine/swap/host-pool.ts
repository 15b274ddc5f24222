/**
 * Host memory for the KV of requests that were thrown out: it is copied there over PCIe and comes back when they are let
 * in again, instead of being computed a second time (vLLM's "swap" pre-emption: Kwon et al., SOSP 2023, 4.5).
 *
 *     running ──put──▶ waiting, hostTokens > 0 ──take──▶ running
 *                              └──forget (aborted)──▶ gone
 *
 * A copy is whole or not at all: a request that does not fit loses its KV as without this memory. It covers all that was
 * computed, blocks that others hold too included, since nobody knows whether those will still be there. On the way back
 * only what can no longer be found on the GPU is moved, which with a prefix memory may be nothing.
 *
 * Invariants: used = Σ over waiting requests of their copies in whole blocks ≤ total; a copy is freed once. In a step that
 * moves both ways copies come in before others go out, so that a place may be given away in the plan that empties it.
 */
import { assert } from "../../core/index.ts";
import type { Batch } from "../batch.ts";
import type { EngineRequest } from "../request.ts";

/** All only grow. */
export interface SwapTotals {
  /** Copies made, brought back, and given up because the request was aborted: out = in + dropped + those held now. */
  out: number;
  in: number;
  dropped: number;
  /** Tokens moved, in whole blocks. Less comes in than has gone out if some of it is still found on the GPU. */
  outTokens: number;
  inTokens: number;
  /** Thrown out without a copy, since this memory was full. */
  refused: number;
}

export class HostPool {
  readonly totalTokens: number;
  readonly blockTokens: number;
  readonly totals: SwapTotals = {
    out: 0,
    in: 0,
    dropped: 0,
    outTokens: 0,
    inTokens: 0,
    refused: 0,
  };
  #used = 0;
  /** Moved since the last step was priced. */
  #outDue = 0;
  #inDue = 0;

  /** @param totalTokens may be too small for anything: then every copy is refused. */
  constructor(totalTokens: number, blockTokens: number) {
    assert(totalTokens >= 0 && blockTokens >= 1, "a memory has a size and blocks");
    this.blockTokens = blockTokens;
    this.totalTokens = Math.floor(totalTokens / blockTokens) * blockTokens;
  }

  get usedTokens(): number {
    return this.#used;
  }

  /** Requests whose copy lies here now. */
  get held(): number {
    return this.totals.out - this.totals.in - this.totals.dropped;
  }

  /** Right before its place on the GPU is freed. */
  put(request: EngineRequest): void {
    assert(request.hostTokens === 0, "a request has one copy");
    if (request.computed === 0) return;
    const tokens = this.#wholeBlocks(request.computed);
    if (this.#used + tokens > this.totalTokens) {
      this.totals.refused += 1;
      return;
    }
    request.hostTokens = request.computed;
    this.#used += tokens;
    this.#outDue += tokens;
    this.totals.out += 1;
    this.totals.outTokens += tokens;
  }

  /** It is back on the GPU, where its first `cached` tokens had been found. */
  take(request: EngineRequest, cached: number): void {
    const tokens = this.#free(request);
    const moved = request.hostTokens > cached ? tokens - cached : 0;
    request.hostTokens = 0;
    this.#inDue += moved;
    this.totals.in += 1;
    this.totals.inTokens += moved;
  }

  /** It will not be back. */
  forget(request: EngineRequest): void {
    if (request.hostTokens === 0) return;
    this.#free(request);
    request.hostTokens = 0;
    this.totals.dropped += 1;
  }

  /** Hands what has been moved to the step that has to wait for it. */
  charge(batch: Batch): void {
    batch.swapOutTokens = this.#outDue;
    batch.swapInTokens = this.#inDue;
    this.#outDue = 0;
    this.#inDue = 0;
  }

  /** @throws MANX_INTERNAL if the copies of those that wait do not add up to what is used. */
  check(waiting: Iterable<EngineRequest>): void {
    let used = 0;
    let held = 0;
    for (const request of waiting) {
      if (request.hostTokens === 0) continue;
      assert(request.computed === 0, "who has a copy has nothing on the GPU");
      assert(request.hostTokens < request.known, "a copy is of what was computed");
      used += this.#wholeBlocks(request.hostTokens);
      held += 1;
    }
    assert(used === this.#used && held === this.held, "host blocks are conserved");
    assert(used <= this.totalTokens, "host memory is bounded");
  }

  #free(request: EngineRequest): number {
    assert(request.hostTokens > 0, "a copy is freed once");
    const tokens = this.#wholeBlocks(request.hostTokens);
    this.#used -= tokens;
    assert(this.#used >= 0, "no host block is freed twice");
    return tokens;
  }

  #wholeBlocks(tokens: number): number {
    return Math.ceil(tokens / this.blockTokens) * this.blockTokens;
  }
}
