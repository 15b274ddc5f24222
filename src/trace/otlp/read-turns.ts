/**
 * Spans from OTLP to turns. Each span without a parent is the root of a turn. Nothing is thrown away: spans under a parent
 * that never came hang under a stand-in, a trace without a root gets one, and the turn says so (casebook TR-09).
 */
import type { Finding, FindingCode } from "../finding.ts";
import type { Span, SpanKind } from "../span.ts";
import type { TurnSpans } from "../turn-record.ts";
import { adoptAttempts } from "./adopt-attempts.ts";
import { cutAtTools, cutFinding } from "./cut-at-tools.ts";
import type { OtlpReadSpan, SpanFlaw } from "./read-otlp.ts";
import { spanKindOf } from "./span-kind-of.ts";
import { spanOf, wholeUs } from "./span-of.ts";

/** A turn and the resource that its root came with. */
export interface OtlpTurn extends TurnSpans {
  readonly environment: Readonly<Record<string, string>>;
}

/** @returns turns by their start. */
export function readTurns(spans: readonly OtlpReadSpan[]): OtlpTurn[] {
  const traces = new Map<string, OtlpReadSpan[]>();
  for (const span of spans) {
    const trace = traces.get(span.traceId);
    if (trace === undefined) traces.set(span.traceId, [span]);
    else trace.push(span);
  }
  return [...traces.values()]
    .flatMap((trace) => turnsOf(trace))
    .sort((a, b) => (a.startedUnixUs ?? 0) - (b.startedUnixUs ?? 0));
}

/** A span of the trace, or one that stands for a missing one. */
export interface Node {
  readonly id: string;
  parentId: string | null;
  kind: SpanKind;
  readonly read: OtlpReadSpan | undefined;
  startNs: bigint;
  endNs: bigint;
  readonly name: string;
}

function turnsOf(trace: readonly OtlpReadSpan[]): OtlpTurn[] {
  const { nodes, duplicates } = uniqueNodes(trace);
  addStandIns(nodes);
  adoptAttempts([...nodes.values()]);
  const cut = cutAtTools([...nodes.values()]);
  const { traceId } = trace[0]!;
  const turns = [...membersByRoot(nodes)].map(([root, inside], index) => {
    const id = index === 0 ? traceId : `${traceId}-${root.id}`;
    return turnOf(id, root, inside, cut);
  });
  if (duplicates === 0 || turns.length === 0) return turns;
  const text = `${duplicates} spans came more than once`;
  const findings = [wholeFinding("duplicate-span", text), ...(turns[0]!.findings ?? [])];
  return [{ ...turns[0]!, findings }, ...turns.slice(1)];
}

function uniqueNodes(trace: readonly OtlpReadSpan[]): {
  nodes: Map<string, Node>;
  duplicates: number;
} {
  const nodes = new Map<string, Node>();
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
function addStandIns(nodes: Map<string, Node>): void {
  const roots = [...nodes.values()].filter(({ parentId }) => parentId === null);
  const standIns = new Map<string, Node>();
  for (const node of [...nodes.values()]) {
    if (node.parentId === null || nodes.has(node.parentId)) continue;
    const standIn = standIns.get(node.parentId);
    if (standIn === undefined) {
      const { parentId: id, startNs, endNs } = node;
      standIns.set(id, { ...STAND_IN, id, startNs, endNs });
    } else widen(standIn, node);
  }
  let made: Node | undefined;
  for (const standIn of standIns.values()) {
    const around = roots.find(
      ({ startNs, endNs }) => startNs <= standIn.startNs && standIn.startNs <= endNs,
    );
    const root = around ?? roots[0];
    if (root === undefined) {
      made ??= {
        ...STAND_IN,
        id: NO_ROOT_ID,
        kind: "turn",
        name: "no root",
        startNs: standIn.startNs,
        endNs: standIn.endNs,
      };
      widen(made, standIn);
    }
    standIn.parentId = (root ?? made)!.id;
    nodes.set(standIn.id, standIn);
  }
  if (made !== undefined) nodes.set(made.id, made);
}

const NO_ROOT_ID = "ffffffffffffffff";
const STAND_IN: Node = {
  id: "",
  parentId: null,
  kind: "missing-parent",
  read: undefined,
  startNs: 0n,
  endNs: 0n,
  name: "missing parent",
};

function widen(outer: Node, inner: Node): void {
  if (inner.startNs < outer.startNs) outer.startNs = inner.startNs;
  if (inner.endNs > outer.endNs) outer.endNs = inner.endNs;
}

/** Every node under its root; those that go round in a circle have none and are left to no turn. */
function membersByRoot(nodes: ReadonlyMap<string, Node>): Map<Node, Node[]> {
  const children = new Map<string, Node[]>();
  const members = new Map<Node, Node[]>();
  for (const node of nodes.values()) {
    if (node.parentId === null) members.set(node, [node]);
    else {
      const siblings = children.get(node.parentId);
      if (siblings === undefined) children.set(node.parentId, [node]);
      else siblings.push(node);
    }
  }
  for (const inside of members.values()) {
    for (let i = 0; i < inside.length; i += 1) {
      for (const child of children.get(inside[i]!.id) ?? []) inside.push(child);
    }
  }
  return members;
}

function turnOf(
  traceId: string,
  root: Node,
  inside: readonly Node[],
  cut: ReadonlySet<string>,
): OtlpTurn {
  const findings: Finding[] = [];
  const spans = inside.map((node): Span => {
    if (node.read === undefined) return standInSpan(node, root.startNs);
    const span = spanOf(node.read, node.kind, node.parentId, root.startNs, findings);
    if (!cut.has(node.id)) return span;
    const endUs = wholeUs(node.endNs - root.startNs);
    findings.push(cutFinding(node.id, endUs));
    return { ...span, endUs, events: span.events.filter(({ atUs }) => atUs <= endUs) };
  });
  const reads = inside.flatMap(({ read }) => (read === undefined ? [] : [read]));
  if (root.read === undefined)
    findings.push(wholeFinding("no-root", "the outermost span never came"));
  findings.push(...flawFindings(reads));
  return {
    traceId,
    spans: withTurn(spans),
    startedUnixUs: Number(root.startNs / 1_000n),
    dropped: {
      spans: 0,
      attributes: 0,
      events: reads.reduce((sum, { droppedEvents }) => sum + droppedEvents, 0),
      links: 0,
      cut: 0,
    },
    findings,
    environment: environmentOf(root.read ?? reads[0]),
  };
}

function standInSpan(node: Node, originNs: bigint): Span {
  return {
    id: node.id,
    parentId: node.parentId,
    kind: node.kind,
    name: node.name,
    startUs: wholeUs(node.startNs - originNs),
    endUs: wholeUs(node.endNs - originNs),
    status: "unset",
    attributes: {},
    events: [],
    links: [],
  };
}

/** What the outermost span may be without being a turn: it stays what it is, inside one of its own length. */
const NO_TURN_KINDS: ReadonlySet<SpanKind> = new Set([
  "model-call",
  "tool-call",
  "attempt",
  "retrieval",
  "guardrail",
  "assembly",
]);

function withTurn(spans: Span[]): Span[] {
  const root = spans[0]!;
  if (root.kind === "turn" || root.kind === "startup") return spans;
  if (!NO_TURN_KINDS.has(root.kind)) return [{ ...root, kind: "turn" }, ...spans.slice(1)];
  const { name, startUs, endUs, status } = root;
  const turn: Span = {
    id: NO_ROOT_ID,
    parentId: null,
    kind: "turn",
    name,
    startUs,
    endUs,
    status,
    attributes: {},
    events: [],
    links: [],
  };
  return [turn, { ...root, parentId: NO_ROOT_ID }, ...spans.slice(1)];
}

const FLAWS: Readonly<Record<SpanFlaw, string>> = {
  "odd-id": "spans had ids in another form than lower-case hex",
  "imprecise-time": "spans had times as numbers, which lose their last digits",
  "unit-guessed": "spans had times in another unit than ns, told by their size",
  "reversed-time": "spans ended before they began; taken as of length 0",
};

/** One for each flaw, since an exporter that has it has it everywhere. */
function flawFindings(reads: readonly OtlpReadSpan[]): Finding[] {
  const counts = new Map<SpanFlaw, number>();
  for (const { flaws } of reads) {
    for (const flaw of flaws) counts.set(flaw, (counts.get(flaw) ?? 0) + 1);
  }
  return [...counts].map(([flaw, count]) => wholeFinding(flaw, `${count} ${FLAWS[flaw]}`));
}

function wholeFinding(code: FindingCode, text: string): Finding {
  return { code, text, spanId: null, startUs: null, endUs: null };
}

const ENVIRONMENT_MAX = 32;

function environmentOf(read: OtlpReadSpan | undefined): Record<string, string> {
  const entries = Object.entries(read?.resource ?? {}).slice(0, ENVIRONMENT_MAX);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      typeof value === "object" ? value.join(",") : String(value),
    ]),
  );
}
