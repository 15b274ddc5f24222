/**
 * The KV memory of a prefill engine: what a finished prefill has computed stays where it is until it has been handed over.
 * A link that is slow or a decode pool that is full so fills this memory, and then no new prompt is let in: the pressure
 * reaches the queue in front, and nothing in between can grow without bound.
 */
import { assert } from "../../core/index.ts";
import type { EngineRequest } from "../request.ts";
import { DelegatedKv } from "./delegated-kv.ts";

export class SourceKv extends DelegatedKv {
  readonly #held = new Set<EngineRequest>();

  override release(request: EngineRequest, again = false): void {
    if (request.state === "finished") this.#held.add(request);
    else super.release(request, again);
  }

  /** It has been handed over, or nobody wants it any more. */
  letGo(request: EngineRequest): void {
    assert(this.#held.delete(request), "what is let go has been held");
    super.release(request);
  }

  override check(holders: Iterable<EngineRequest>): void {
    super.check([...holders, ...this.#held]);
  }
}
