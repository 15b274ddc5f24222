/** Which attempt of a call gave its answer; the others cost time and gave nothing. */
import type { TurnTree } from "./turn-tree.ts";

export interface CallAttempts {
  /** In order of their start; never empty. */
  readonly attempts: readonly number[];
  /** The last one that ended well; −1 if none did. */
  readonly winner: number;
}

/** @returns undefined for a span without attempts. */
export function attemptsOf(tree: TurnTree, call: number): CallAttempts | undefined {
  const attempts = tree.children(call).filter((kid) => tree.spans[kid]!.kind === "attempt");
  if (attempts.length === 0) return undefined;
  let winner = -1;
  for (const attempt of attempts) {
    const { status } = tree.spans[attempt]!;
    if (status === "error" || status === "cancelled") continue;
    if (winner < 0 || tree.endsUs[attempt]! >= tree.endsUs[winner]!) winner = attempt;
  }
  return { attempts, winner };
}

/** One that failed, or that was given up for another one. */
export function isLost(tree: TurnTree, attempt: number, winner: number): boolean {
  const { status } = tree.spans[attempt]!;
  if (status === "error") return true;
  return winner >= 0 && attempt !== winner;
}
