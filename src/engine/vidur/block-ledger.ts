/**
 * How many KV blocks each request of a reference policy has. Blocks are counted, not told apart. Invariant: free + held =
 * total. It differs from the twin's own paged memory in two rules of early vLLM that Vidur keeps: an admission leaves a
 * watermark of blocks free, and a decode asks for a free block even if its token still fits into the last one.
 */
import { assert, ManxError } from "../../core/index.ts";
import type { ReferenceRequest } from "./reference-request.ts";

export interface BlockOptions {
  readonly blocks: number;
  readonly blockTokens: number;
  /** Share of all blocks that an admission leaves free, 0 to 1. */
  readonly watermarkShare: number;
}

export class BlockLedger {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly watermark: number;
  #free: number;
  #holders = 0;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor({ blocks, blockTokens, watermarkShare }: BlockOptions) {
    requireCount("blocks", blocks);
    requireCount("blockTokens", blockTokens);
    if (!(watermarkShare >= 0 && watermarkShare < 1)) {
      throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
        where: "watermarkShare",
        expected: "from 0 to below 1",
        got: String(watermarkShare),
      });
    }
    this.blocks = blocks;
    this.blockTokens = blockTokens;
    this.watermark = Math.floor(watermarkShare * blocks);
    this.#free = blocks;
  }

  get free(): number {
    return this.#free;
  }

  /** Requests that have blocks. */
  get holders(): number {
    return this.#holders;
  }

  /** Blocks for so many tokens. */
  blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.blockTokens);
  }

  /** Whether a request without blocks may come in with its whole prompt. */
  canAdmit(request: ReferenceRequest): boolean {
    return this.#free - this.blocksFor(request.promptTokens) >= this.watermark;
  }

  /** Whether any request with blocks may decode one more token. */
  get canContinue(): boolean {
    return this.#free >= 1;
  }

  /** The first blocks of a request. */
  give(request: ReferenceRequest, blocks: number): void {
    assert(request.blocks === 0 && blocks >= 1, "a request comes in once");
    request.blocks = blocks;
    this.#free -= blocks;
    this.#holders += 1;
    assert(this.#free >= 0, "no block is given out twice");
  }

  /** One more block if the tokens so far need it. */
  extend(request: ReferenceRequest): void {
    assert(request.blocks > 0, "who decodes has blocks");
    if (request.processed <= request.blocks * this.blockTokens) return;
    request.blocks += 1;
    this.#free -= 1;
    assert(this.#free >= 0, "no block is given out twice");
  }

  takeBack(request: ReferenceRequest): void {
    assert(request.blocks > 0, "who leaves has blocks");
    this.#free += request.blocks;
    this.#holders -= 1;
    request.blocks = 0;
  }

  /** @param requests all that may hold blocks. @throws MANX_INTERNAL if free and held blocks do not add up. */
  check(requests: Iterable<ReferenceRequest>): void {
    let held = 0;
    let holders = 0;
    for (const request of requests) {
      held += request.blocks;
      if (request.blocks > 0) holders += 1;
    }
    assert(held + this.#free === this.blocks, "blocks are conserved");
    assert(holders === this.#holders, "holders are counted");
  }
}

/** @throws MANX_CONFIG_IMPOSSIBLE unless `value` is a whole number from 1. */
export function requireCount(where: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    where,
    expected: "a whole number from 1",
    got: String(value),
  });
}
