/**
 * Chunked prefill (Sarathi-Serve, Agrawal et al., OSDI 2024): a step computes one token of every answer under way, and
 * fills what is left of its token budget with pieces of prompts, first of those begun, then from the queue.
 */
import { requireCount } from "./block-ledger.ts";
import type { ReferenceRequest } from "./reference-request.ts";
import { byArrival, type ReferenceOptions, ReferenceScheduler } from "./reference-scheduler.ts";

export interface ChunkedMixedOptions extends ReferenceOptions {
  /** Budget of a step. Decodes count against it but are never refused for it. */
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
    let next = 0;
    // In the order in which they fell idle, not of arrival. Who is set aside as begun is no longer in the list's tail, where
    // victims are taken from; who stands further back still is, whatever its state.
    for (; next < this.idle.length && this.batch.size < this.sequencesMax; next += 1) {
      const request = this.idle[next]!;
      if (request.isReady) this.addDecode(next);
      else begun.push(request);
    }
    const skipped = this.#continuePrompts(begun);
    this.idle = [...skipped, ...this.idle.slice(next)].sort(byArrival);
    this.#admit();
  }

  get #budget(): number {
    return this.#chunkTokens - this.batch.tokens;
  }

  /** Their blocks exist, so memory is no question. Answers those for whom no budget was left. */
  #continuePrompts(begun: readonly ReferenceRequest[]): ReferenceRequest[] {
    const skipped: ReferenceRequest[] = [];
    for (const request of begun) {
      const tokens = Math.min(request.promptTokens - request.processed, this.#budget);
      if (tokens > 0) this.batch.add(request, tokens);
      else skipped.push(request);
    }
    return skipped;
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
