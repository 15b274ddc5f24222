/** An order in which everything comes after what it needs, nearest to the order in which it was given. */
import { ManxError, nearestName } from "../core/index.ts";
import { findCycle } from "./graph-cycle.ts";

/** @throws MANX_GRAPH_INVALID for a need that is not there, and for a cycle, which is named. */
export function inOrderOfNeeds(needs: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const open = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const [name, own] of needs) {
    const distinct = new Set(own);
    open.set(name, distinct.size);
    for (const need of distinct) {
      if (!needs.has(need)) throw missing(name, need, [...needs.keys()]);
      dependents.set(need, [...(dependents.get(need) ?? []), name]);
    }
  }
  const order = [...needs.keys()].filter((name) => open.get(name) === 0);
  for (const name of order) {
    for (const dependent of dependents.get(name) ?? []) {
      const left = open.get(dependent)! - 1;
      open.set(dependent, left);
      if (left === 0) order.push(dependent);
    }
  }
  if (order.length === needs.size) return order;
  throw new ManxError("MANX_GRAPH_INVALID", {
    what: "tasks that need each other",
    got: findCycle(needs)!.join(" → "),
    hint: "take one of these needs away",
  });
}

function missing(name: string, need: string, names: readonly string[]): ManxError {
  const near = nearestName(need, names);
  return new ManxError("MANX_GRAPH_INVALID", {
    what: "a task that needs one that is not there",
    where: JSON.stringify(name),
    got: JSON.stringify(need),
    ...(near !== undefined && { hint: `did you mean ${JSON.stringify(near)}?` }),
  });
}
