/**
 * Iteration-level batching (Orca, Yu et al., OSDI 2022): a step mixes one token of every answer under way with whole
 * prompts from the queue. Each request reserves memory for the longest context there may be, so nothing ever has to grow
 * or give way, and memory decides how many can be under way.
 */
import { requireCount } from "./block-ledger.ts";
import { type ReferenceOptions, ReferenceScheduler } from "./reference-scheduler.ts";

export interface WholeContextOptions extends ReferenceOptions {
  /** Longest prompt plus output, which every request reserves. */
  readonly contextTokensMax: number;
}

/** What both policies that reserve the whole context do: fill the step from the queue. */
export abstract class WholeContextScheduler extends ReferenceScheduler {
  readonly #contextBlocks: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: WholeContextOptions) {
    super(options);
    requireCount("contextTokensMax", options.contextTokensMax);
    this.#contextBlocks = this.ledger.blocksFor(options.contextTokensMax);
  }

  protected admit(): void {
    while (this.batch.size < this.sequencesMax && this.ledger.free >= this.#contextBlocks) {
      const { head } = this;
      if (head === undefined || this.ledger.blocksFor(head.totalTokens) > this.#contextBlocks)
        return;
      this.admitHead(this.#contextBlocks, head.promptTokens);
    }
  }
}

export class WholeMixedReference extends WholeContextScheduler {
  readonly name = "whole-mixed";

  protected compose(): void {
    for (const request of this.idle) this.batch.add(request, 1);
    this.idle = [];
    this.admit();
  }
}
