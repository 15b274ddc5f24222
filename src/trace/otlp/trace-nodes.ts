/**
 * The spans of one trace put into trees: each id once, each span under a parent that is there, each tree under one root,
 * the same for every order in which they came (casebook TR-09).
 */
import type { SpanKind } from "../span.ts";
import type { OtlpReadSpan } from "./read-otlp.ts";
import { spanKindOf } from "./span-kind-of.ts";

/** A span of the trace, or one that stands for a missing one. */
export interface TraceNode {
  readonly id: string;
  parentId: string | null;
  kind: SpanKind;
  readonly read: OtlpReadSpan | undefined;
  startNs: bigint;
  endNs: bigint;
  readonly name: string;
  /** Made a root, since its ancestors were among its descendants. */
  isFromCircle?: true;
}

export function uniqueNodes(trace: readonly OtlpReadSpan[]): {
  nodes: Map<string, TraceNode>;
  duplicates: number;
} {
  const nodes = new Map<string, TraceNode>();
  for (const read of trace) {
    const before = nodes.get(read.spanId)?.read;
    if (before !== undefined && !isFuller(read, before)) continue;
    const { spanId: id, parentId, startNs, endNs, name } = read;
    const kind = spanKindOf(name, read.attributes);
    nodes.set(id, {
      id,
      parentId: parentId === id ? null : parentId,
      kind,
      read,
      startNs,
      endNs,
      name,
    });
  }
  return { nodes, duplicates: trace.length - nodes.size };
}

function isFuller(span: OtlpReadSpan, before: OtlpReadSpan): boolean {
  if (span.endNs !== before.endNs) return span.endNs > before.endNs;
  return Object.keys(span.attributes).length > Object.keys(before.attributes).length;
}

/** One stand-in for each missing parent, under the root that was there at its time, or under one made up. */
export function addStandIns(nodes: Map<string, TraceNode>): void {
  const roots = [...nodes.values()].filter(({ parentId }) => parentId === null).sort(byStart);
  const standIns = new Map<string, TraceNode>();
  for (const node of [...nodes.values()]) {
    if (node.parentId === null || nodes.has(node.parentId)) continue;
    const standIn = standIns.get(node.parentId);
    if (standIn === undefined) {
      const { parentId: id, startNs, endNs } = node;
      standIns.set(id, { ...STAND_IN, id, startNs, endNs });
    } else widen(standIn, node);
  }
  for (const standIn of standIns.values()) nodes.set(standIn.id, standIn);
  if (roots.length === 0 && standIns.size > 0) roots.push(madeRoot(nodes, standIns.values()));
  for (const standIn of standIns.values()) {
    standIn.parentId = rootAt(roots, standIn.startNs).id;
  }
}

function madeRoot(nodes: Map<string, TraceNode>, standIns: Iterable<TraceNode>): TraceNode {
  let root: TraceNode | undefined;
  for (const standIn of standIns) {
    root ??= { ...standIn, id: spareId(nodes), kind: "turn", name: "no root" };
    widen(root, standIn);
  }
  nodes.set(root!.id, root!);
  return root!;
}

/** The root that began last before an instant; the first of all if none did. */
function rootAt(roots: readonly TraceNode[], ns: bigint): TraceNode {
  let [low, high] = [0, roots.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (roots[middle]!.startNs > ns) high = middle;
    else low = middle + 1;
  }
  return roots[Math.max(0, low - 1)]!;
}

/** An id that no span of the trace has. */
export function spareId(taken: { has(id: string): boolean }): string {
  let id = 2n ** 64n - 1n;
  while (taken.has(id.toString(16))) id -= 1n;
  return id.toString(16);
}

const STAND_IN: TraceNode = {
  id: "",
  parentId: null,
  kind: "missing-parent",
  read: undefined,
  startNs: 0n,
  endNs: 0n,
  name: "missing parent",
};

function widen(outer: TraceNode, inner: TraceNode): void {
  if (inner.startNs < outer.startNs) outer.startNs = inner.startNs;
  if (inner.endNs > outer.endNs) outer.endNs = inner.endNs;
}

/**
 * Every node under its root. Of those whose parents go round in a circle the earliest is taken for a root, so that none is
 * lost.
 */
export function membersByRoot(nodes: ReadonlyMap<string, TraceNode>): Map<TraceNode, TraceNode[]> {
  const children = new Map<string, TraceNode[]>();
  for (const node of nodes.values()) {
    if (node.parentId === null) continue;
    const siblings = children.get(node.parentId);
    if (siblings === undefined) children.set(node.parentId, [node]);
    else siblings.push(node);
  }
  const members = new Map<TraceNode, TraceNode[]>();
  const reached = new Set<TraceNode>();
  const gather = (root: TraceNode): void => {
    const inside = [root];
    reached.add(root);
    for (let i = 0; i < inside.length; i += 1) {
      for (const child of children.get(inside[i]!.id) ?? []) {
        if (reached.has(child)) continue;
        reached.add(child);
        inside.push(child);
      }
    }
    members.set(root, inside);
  };
  const ordered = [...nodes.values()].sort(byStart);
  for (const node of ordered) if (node.parentId === null) gather(node);
  if (reached.size === nodes.size) return members;
  for (const node of ordered) {
    if (reached.has(node)) continue;
    node.parentId = null;
    node.isFromCircle = true;
    gather(node);
  }
  return members;
}

function byStart(a: TraceNode, b: TraceNode): number {
  if (a.startNs !== b.startNs) return a.startNs < b.startNs ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
