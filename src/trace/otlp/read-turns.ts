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
import { spanOf, wholeUs } from "./span-of.ts";
import { addStandIns, membersByRoot, spareId, type TraceNode, uniqueNodes } from "./trace-nodes.ts";

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

function turnOf(
  traceId: string,
  root: TraceNode,
  inside: readonly TraceNode[],
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
  if (root.read === undefined) {
    findings.push(wholeFinding("no-root", "the outermost span never came"));
  }
  if (root.isFromCircle === true) {
    const text =
      "the parents of its spans go round in a circle; the earliest is taken for the root";
    findings.push(wholeFinding("unreachable-span", text));
  }
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

function standInSpan(node: TraceNode, originNs: bigint): Span {
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
  const id = spareId(new Set(spans.map((span) => span.id)));
  const turn: Span = {
    id,
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
  return [turn, { ...root, parentId: id }, ...spans.slice(1)];
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
