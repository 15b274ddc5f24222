/**
 * HTTP requests of model calls become the calls' attempts: the only trace that most instrumentations leave of a retry. A
 * request below a call is one of its own; one beside it is, too, if the call lies around it and no other call does.
 */

import { isHttp } from "./span-kind-of.ts";
import type { TraceNode } from "./trace-nodes.ts";

/** How far a request may stick out of its call: the two were stamped by different libraries. */
const SLACK_NS = 5_000_000n;
/** Calls beside a request that are looked at. */
const CALLS_MAX = 64;

export function adoptAttempts(nodes: readonly TraceNode[]): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const calls = new Map<string, TraceNode[]>();
  for (const node of nodes) {
    if (node.kind !== "model-call" || node.parentId === null) continue;
    const beside = calls.get(node.parentId);
    if (beside === undefined) calls.set(node.parentId, [node]);
    else if (beside.length < CALLS_MAX) beside.push(node);
  }
  for (const node of nodes) {
    if (node.kind !== "other" || node.read === undefined || !isHttp(node.read.attributes)) continue;
    if (node.parentId === null) continue;
    const around = (calls.get(node.parentId) ?? []).filter((call) => isAround(call, node));
    if (byId.get(node.parentId)?.kind === "model-call") node.kind = "attempt";
    else if (around.length === 1) {
      node.kind = "attempt";
      node.parentId = around[0]!.id;
    }
  }
}

function isAround(call: TraceNode, request: TraceNode): boolean {
  return call.startNs - SLACK_NS <= request.startNs && request.endNs <= call.endNs + SLACK_NS;
}
