/**
 * The KV memory of a decode engine: room is set aside before a transfer starts, and what has arrived counts as computed
 * when its request is let in.
 *
 * An answer that is thrown out here has lost its KV and is computed again here. It comes before all that is still to
 * arrive: nothing new is expected while one waits, and if it does not fit otherwise, it takes the room of the youngest
 * expected one, which then is computed here too when it arrives. Without that, one could wait for ever at the head of the
 * queue for memory that those behind it hold.
 */
import { assert } from "../../core/index.ts";
import type { EngineRequest } from "../request.ts";
import { DelegatedKv } from "./delegated-kv.ts";

export class LandingKv extends DelegatedKv {
  /** With room but not yet let in; the last is the youngest. */
  readonly #expected = new Set<EngineRequest>();
  readonly #thrownOut = new Set<EngineRequest>();

  /** Sets room aside for all that the request has so far. Answers false if there is none now. */
  expect(request: EngineRequest): boolean {
    if (this.#someoneWaits()) return false;
    if (!this.inner.admit(request, request.known, this.inner.match(request))) return false;
    this.#expected.add(request);
    return true;
  }

  /** Whether there still is room for it. */
  expects(request: EngineRequest): boolean {
    return this.#expected.has(request);
  }

  /** It will not come. */
  forget(request: EngineRequest): void {
    if (this.#expected.delete(request)) this.inner.release(request);
  }

  /** All of the prompt, whose KV has arrived. */
  override match(request: EngineRequest): number {
    return this.#expected.has(request) ? request.promptTokens : this.inner.match(request);
  }

  override admit(
    request: EngineRequest,
    tokens: number,
    cached: number,
    fitTokens = tokens,
  ): boolean {
    if (this.#expected.has(request)) {
      assert(request.reservedTokens >= tokens, "room was set aside for what it has");
      return this.#expected.delete(request);
    }
    while (!this.inner.admit(request, tokens, cached, fitTokens)) {
      const youngest = [...this.#expected].at(-1);
      if (youngest === undefined) return false;
      this.forget(youngest);
    }
    this.#thrownOut.delete(request);
    return true;
  }

  override release(request: EngineRequest, again = false): void {
    if (again) this.#thrownOut.add(request);
    super.release(request, again);
  }

  override check(holders: Iterable<EngineRequest>): void {
    super.check([...holders, ...this.#expected]);
  }

  #someoneWaits(): boolean {
    for (const request of this.#thrownOut) {
      if (request.state === "waiting") return true;
      this.#thrownOut.delete(request);
    }
    return false;
  }
}
