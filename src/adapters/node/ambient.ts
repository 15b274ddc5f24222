/**
 * The turn of whatever runs now, without handing it on: what `withTurn` calls, and all that this awaits or starts, finds it
 * by `currentTurn`. One in the other nests; outside of all there is none.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Turn } from "../../runtime/index.ts";

const turns = new AsyncLocalStorage<Turn>();

/** @returns what `run` returns. The turn is not closed. */
export function withTurn<Result>(turn: Turn, run: () => Result): Result {
  return turns.run(turn, run);
}

export function currentTurn(): Turn | undefined {
  return turns.getStore();
}
