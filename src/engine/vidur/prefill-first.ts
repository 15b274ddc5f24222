/**
 * Prefill first, never mixed, as vLLM did it at first: a step computes whole prompts from the queue if any can come in,
 * otherwise one token of each request under way. The prompts of a step are padded to the longest, so that is what counts
 * against the token limit.
 */
import { requireCount } from "./block-ledger.ts";
import { type ReferenceOptions, ReferenceScheduler } from "./reference-scheduler.ts";

export interface PrefillFirstOptions extends ReferenceOptions {
  /** Most prompt tokens of a step, padding included. */
  readonly paddedTokensMax: number;
}

export class PrefillFirstReference extends ReferenceScheduler {
  readonly name = "prefill-first";
  readonly #paddedTokensMax: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: PrefillFirstOptions) {
    super(options);
    requireCount("paddedTokensMax", options.paddedTokensMax);
    this.#paddedTokensMax = options.paddedTokensMax;
  }

  protected compose(): void {
    this.#admit();
    if (this.batch.size > 0) return;
    for (let i = 0; i < this.idle.length; i += 1) this.addDecode(i);
    this.idle = [];
  }

  /** First come, first served; a head that cannot come in holds up all behind it. */
  #admit(): void {
    let longestTokens = 0;
    while (this.ledger.holders < this.sequencesMax) {
      const { head } = this;
      if (head === undefined || !this.ledger.canAdmit(head)) return;
      longestTokens = Math.max(longestTokens, head.promptTokens);
      if ((this.batch.size + 1) * longestTokens > this.#paddedTokensMax) return;
      this.admitHead(this.ledger.blocksFor(head.promptTokens), head.promptTokens);
    }
  }
}
