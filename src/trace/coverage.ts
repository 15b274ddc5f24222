/**
 * Time of a span's own and of its children, by the union of their intervals: with children side by side, duration minus
 * the sum of theirs would be negative (casebook TR-07). The sum is shown apart, as busy time.
 */
import type { TurnTree } from "./turn-tree.ts";

export interface Coverage {
  /** Inside the span, outside of all its children. */
  readonly selfUs: number;
  /** Inside the span and inside at least one child; selfUs + coveredUs is the span's duration. */
  readonly coveredUs: number;
  /** The children's durations inside the span, summed. */
  readonly busyUs: number;
  /** busyUs / coveredUs: how many children ran at once, on average; null without children. */
  readonly parallelism: number | null;
}

export function coverageOf(tree: TurnTree, index: number): Coverage {
  const [startUs, endUs] = [tree.startsUs[index]!, tree.endsUs[index]!];
  return coverage(tree, tree.children(index), startUs, endUs);
}

/** The work of a turn: its leaves, wherever they are in the tree, against the turn's own duration. */
export function workOf(tree: TurnTree): Coverage {
  const leaves: number[] = [];
  for (let index = 1; index < tree.spans.length; index += 1) {
    if (tree.children(index).length === 0) leaves.push(index);
  }
  leaves.sort((a, b) => tree.startsUs[a]! - tree.startsUs[b]!);
  return coverage(tree, leaves, tree.startsUs[0]!, tree.endsUs[0]!);
}

/** @param spans by their start. */
function coverage(
  tree: TurnTree,
  spans: readonly number[],
  lowUs: number,
  highUs: number,
): Coverage {
  let coveredUs = 0;
  let busyUs = 0;
  let nowUs = lowUs;
  for (const span of spans) {
    const fromUs = Math.max(tree.startsUs[span]!, lowUs);
    const toUs = Math.min(tree.endsUs[span]!, highUs);
    if (toUs <= fromUs) continue;
    busyUs += toUs - fromUs;
    coveredUs += Math.max(0, toUs - Math.max(fromUs, nowUs));
    nowUs = Math.max(nowUs, toUs);
  }
  return {
    selfUs: highUs - lowUs - coveredUs,
    coveredUs,
    busyUs,
    parallelism: coveredUs === 0 ? null : busyUs / coveredUs,
  };
}
