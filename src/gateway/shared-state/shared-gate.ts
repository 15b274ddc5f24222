/**
 * The second door, behind a gateway's own admission: the limits that several gateways keep together. Each call that has its
 * turn here asks there, holds what it was granted until it ends, and gives it back once, whatever becomes of it: also where
 * its caller left while the answer was on its way.
 */
import { IdMap } from "../../core/index.ts";
import type { Claim, Grant, Lease, SharedLimits } from "./shared-limits.ts";

export type Denied = Grant & { readonly kind: "denied" };

/** Asked, and not answered yet. */
const ASKED = Symbol("asked");

export class SharedGate {
  readonly #limits: SharedLimits;
  /** By the call's number. */
  readonly #held = new IdMap<Lease | typeof ASKED>();

  constructor(limits: SharedLimits) {
    this.#limits = limits;
  }

  /** Calls that are asked for now or hold something. */
  get size(): number {
    return this.#held.size;
  }

  /** @param answer told once, within the store's deadline, unless the call ends before. */
  ask(id: number, claim: Claim, answer: (denied: Denied | undefined) => void): void {
    this.#held.set(id, ASKED);
    void this.#limits.acquire(claim).then((grant) => {
      const isWanted = this.#held.get(id) === ASKED;
      if (grant.kind === "denied") {
        this.#held.delete(id);
        if (isWanted) answer(grant);
      } else if (isWanted) {
        this.#held.set(id, grant.lease);
        answer(undefined);
      } else this.#limits.release(grant.lease, 0);
    });
  }

  /**
   * It has ended, or its caller has left; a second end counts for nothing.
   * @param tokens that it took; undefined if nobody knows: then as many as it asked for.
   * @returns whether something was given back.
   */
  end(id: number, tokens?: number): boolean {
    const lease = this.#held.get(id);
    this.#held.delete(id);
    if (lease === undefined || lease === ASKED) return false;
    this.#limits.release(lease, tokens ?? lease.claim.tokens);
    return true;
  }
}
