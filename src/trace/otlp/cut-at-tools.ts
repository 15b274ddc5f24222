/**
 * The AI SDK 5 and 6 keep the span of a stream open until the tools that it asked for are done, and record those beside
 * it: as it stands, tool time would be the model's. Such a span is taken to end where the first of them began.
 */
import type { Finding } from "../finding.ts";
import type { TraceNode } from "./trace-nodes.ts";

/** @returns the ids of the spans that were cut. */
export function cutAtTools(nodes: readonly TraceNode[]): Set<string> {
  const startsNs = new Map<string, bigint[]>();
  for (const { parentId, read, startNs } of nodes) {
    if (parentId === null || operationOf(read) !== "ai.toolCall") continue;
    const siblings = startsNs.get(parentId);
    if (siblings === undefined) startsNs.set(parentId, [startNs]);
    else siblings.push(startNs);
  }
  for (const starts of startsNs.values()) starts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const cut = new Set<string>();
  for (const node of nodes) {
    if (node.parentId === null || !operationOf(node.read).endsWith(".doStream")) continue;
    const toolNs = firstAfter(startsNs.get(node.parentId) ?? [], node.startNs);
    if (toolNs === undefined || toolNs >= node.endNs) continue;
    node.endNs = toolNs;
    cut.add(node.id);
  }
  return cut;
}

function firstAfter(sorted: readonly bigint[], ns: bigint): bigint | undefined {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! > ns) high = middle;
    else low = middle + 1;
  }
  return sorted[low];
}

export function cutFinding(id: string, atUs: number): Finding {
  const text = "its span holds the tools that it asked for; taken to end where the first began";
  return { code: "cut-span", text, spanId: id, startUs: atUs, endUs: atUs };
}

function operationOf(read: TraceNode["read"]): string {
  const value = read?.attributes["ai.operationId"] ?? read?.attributes["operation.name"];
  return typeof value === "string" ? value.split(" ")[0]! : "";
}
