/**
 * Static batching (FasterTransformer): a batch is formed from the queue, its members compute one token a step until each
 * has completed, and only then the next one is formed. Who has completed takes no further part in the steps but keeps its
 * blocks.
 *
 * Here this departs from Vidur, which gives back only the blocks of those in a batch's last step and loses the others. That
 * shows only once memory has run out, and then Vidur stops.
 */
import type { ReferenceRequest } from "./reference-request.ts";
import { WholeContextScheduler } from "./whole-mixed.ts";

export class StaticReference extends WholeContextScheduler {
  readonly name = "static";
  #members: ReferenceRequest[] = [];

  override commit(nowS: number): void {
    const { requests, newTokens } = this.batch;
    for (const [i, request] of requests.entries()) request.advance(newTokens[i]!, nowS);
    this.batch.reset();
    if (!this.#members.every((request) => request.isCompleted)) return;
    for (const request of this.#members) this.ledger.takeBack(request);
    this.#members = [];
  }

  override check(): void {
    this.ledger.check(this.#members);
  }

  protected compose(): void {
    if (this.#members.length === 0) {
      this.admit();
      this.#members = [...this.batch.requests];
      return;
    }
    for (const request of this.#members) {
      if (!request.isCompleted) this.batch.add(request, 1);
    }
  }
}
