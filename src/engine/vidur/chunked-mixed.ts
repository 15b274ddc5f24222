/**
 * Chunked prefill (Sarathi-Serve, Agrawal et al., OSDI 2024): a step computes one token of every answer under way, and
 * fills what is left of its token budget with pieces of prompts, first of the one begun, then from the queue.
 *
 * At most one prompt is begun at a time, since it takes all that is left. Every answer once entered through the budget, and
 * when the begun prompt did, the others left it at least one token. So answers never exceed the budget, and never starve
 * a begun prompt; what Vidur does in those two cases cannot be seen.
 */
import { assert } from "../../core/index.ts";
import { requireCount } from "./block-ledger.ts";
import type { ReferenceRequest } from "./reference-request.ts";
import { type ReferenceOptions, ReferenceScheduler } from "./reference-scheduler.ts";

export interface ChunkedMixedOptions extends ReferenceOptions {
  /** Token budget of a step. */
  readonly chunkTokens: number;
}

export class ChunkedMixedReference extends ReferenceScheduler {
  readonly name = "chunked-mixed";
  readonly #chunkTokens: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: ChunkedMixedOptions) {
    super(options);
    requireCount("chunkTokens", options.chunkTokens);
    this.#chunkTokens = options.chunkTokens;
  }

  protected compose(): void {
    const begun: ReferenceRequest[] = [];
    for (let i = 0; i < this.idle.length; i += 1) {
      const request = this.idle[i]!;
      if (request.isReady) this.addDecode(i);
      else begun.push(request);
    }
    this.idle = [];
    for (const request of begun) this.#continuePrompt(request);
    this.#admit();
  }

  get #budget(): number {
    return this.#chunkTokens - this.batch.tokens;
  }

  /** Its blocks exist, so memory is no question. */
  #continuePrompt(request: ReferenceRequest): void {
    const tokens = Math.min(request.promptTokens - request.processed, this.#budget);
    assert(tokens > 0, "decodes leave the begun prompt a token");
    this.batch.add(request, tokens);
  }

  /** Blocks for the whole prompt at once, tokens as far as the budget goes. May take back who was just restarted. */
  #admit(): void {
    while (this.ledger.holders < this.sequencesMax && this.batch.size < this.sequencesMax) {
      const { head } = this;
      if (head === undefined || this.#budget <= 0 || !this.ledger.canAdmit(head)) return;
      const tokens = Math.min(head.promptTokens, this.#budget);
      this.admitHead(this.ledger.blocksFor(head.promptTokens), tokens);
    }
  }
}
