/**
 * What one gateway has found out about a target, for the others: a breaker that opens here is open there until the same
 * moment, without everybody having to run into the same wall. Hints only: nobody waits for them, and a gateway that knows
 * better by its own calls goes by those.
 */
import { US_PER_MS } from "../../core/index.ts";
import { GET_BREAKERS, SET_BREAKERS } from "./state-scripts.ts";
import type { StateStore } from "./state-store.ts";

/** Names asked for in one command. */
const NAMES_MAX = 1_000;

export class SharedBreakers {
  readonly #store: StateStore;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** @param forUs how long it stays open from now. */
  opened(target: string, forUs: number): void {
    void this.#store.tell(SET_BREAKERS, [keyOf(target)], [Math.max(1, Math.round(forUs))]);
  }

  closed(target: string): void {
    void this.#store.tell(SET_BREAKERS, [keyOf(target)], [0]);
  }

  /** For how long each is still open, µs, those that are not left out; undefined if the store does not answer. */
  async read(targets: readonly string[]): Promise<ReadonlyMap<string, number> | undefined> {
    const asked = targets.slice(0, NAMES_MAX);
    if (asked.length === 0) return new Map();
    const reply = await this.#store.ask(GET_BREAKERS, asked.map(keyOf), []);
    if (!Array.isArray(reply)) return undefined;
    const open = asked
      .map((target, i) => [target, Number(reply[i]) * US_PER_MS] as const)
      .filter(([, leftUs]) => leftUs > 0);
    return new Map(open);
  }
}

/** One name in braces for all, so that a cluster keeps them on one node. */
function keyOf(target: string): string {
  return `manx:{breakers}:${target}`;
}
