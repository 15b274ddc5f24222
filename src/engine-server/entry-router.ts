/**
 * Which engine a live call enters by, and what the router has to know for that: tokens open at each entry, and of them the
 * ones that are still to be computed before a first token. Invariant: what a call has added is taken away once.
 */
import { lookUp } from "../core/index.ts";
import type { Serving } from "../engine/index.ts";
import { ROUTERS, type Router, type RouterName } from "../policy/index.ts";
import type { LiveCall } from "./live-call.ts";

export class EntryRouter {
  readonly #router: Router;
  readonly #openTokens: number[];
  readonly #pendingTokens: number[];
  readonly #serving: Serving;

  /** @throws MANX_NAME_UNKNOWN */
  constructor(serving: Serving, routing: RouterName) {
    const cacheTokens = serving.entries[0]!.scheduler.kv.totalTokens;
    this.#serving = serving;
    this.#router = lookUp(ROUTERS, routing, "routing", "routing")({ cacheTokens });
    this.#openTokens = serving.entries.map(() => 0);
    this.#pendingTokens = serving.entries.map(() => 0);
  }

  /** Sets the call's entry. */
  place(call: LiveCall): void {
    const { tokens, pieceNames: prefixIds } = call.request.prompt;
    const { openTokens } = this.#serving;
    call.entry =
      openTokens === undefined
        ? this.#router.pick({ prefixIds, tokens }, this.#openTokens, this.#pendingTokens)
        : // Before a prefill pool, all that is open is to be computed yet.
          this.#router.pick({ prefixIds, tokens }, openTokens);
    call.pendingTokens = this.#router.newTokens ?? tokens;
    this.#openTokens[call.entry]! += call.openTokens;
    this.#pendingTokens[call.entry]! += call.pendingTokens;
  }

  /** The first of its tokens is there, or it has left before. */
  begun(call: LiveCall): void {
    this.#pendingTokens[call.entry]! -= call.pendingTokens;
    call.pendingTokens = 0;
  }

  left(call: LiveCall): void {
    this.begun(call);
    this.#openTokens[call.entry]! -= call.openTokens;
  }
}
