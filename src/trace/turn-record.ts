/** A turn's spans to its document: phases, second level, steps, critical path, and what is not known. */
import { isoTime } from "../clock/index.ts";
import { VERSION } from "../version.ts";
import { type Attribution, type AttributionOptions, attribute } from "./attribution.ts";
import { workOf } from "./coverage.ts";
import type { TurnRecord } from "./document/turn-schema.ts";
import { FINDINGS_MAX, type Finding, findingsOf } from "./finding.ts";
import { PHASES, type Phase, type PhaseTimes } from "./phase.ts";
import type { Span } from "./span.ts";
import type { DroppedCounts } from "./turn-limits.ts";
import { TurnTree } from "./turn-tree.ts";

/** A recorded turn, or one that was read from elsewhere. */
export interface TurnSpans {
  readonly traceId: string;
  readonly spans: readonly Span[];
  /** Unix time of the instant from which the spans' times count, µs; null if it is not known. */
  readonly startedUnixUs: number | null;
  readonly dropped?: DroppedCounts;
  /** What its reader found wrong. */
  readonly findings?: readonly Finding[];
}

export interface TurnRecordOptions extends AttributionOptions {
  /**
   * What the numbers were taken in, by the names of OpenTelemetry resources: `service.name`, `host.name`,
   * `process.runtime.version`. Manx's version is added. Never secrets.
   */
  readonly environment?: Readonly<Record<string, string>>;
}

const NOTHING_DROPPED: DroppedCounts = { spans: 0, attributes: 0, events: 0, links: 0, cut: 0 };

/**
 * Costs some tens of µs for a turn of ten spans: do it after the answer has gone out.
 * @throws MANX_TRACE_FORMAT if the spans have no root.
 */
export function turnRecord(turn: TurnSpans, options: TurnRecordOptions = {}): TurnRecord {
  const tree = new TurnTree(turn.spans);
  const attribution = attribute(tree, options);
  const root = tree.spans[0]!;
  const originUs = tree.startsUs[0]!;
  const dropped = turn.dropped ?? NOTHING_DROPPED;
  const findings = [...(turn.findings ?? []), ...findingsOf(tree, attribution)];
  const startedUnixUs = turn.startedUnixUs === null ? null : turn.startedUnixUs + originUs;
  const { busyUs, coveredUs, parallelism } = workOf(tree);
  return {
    schemaVersion: 1,
    kind: "turn",
    id: turn.traceId,
    name: root.name,
    startedAt: startedUnixUs === null ? null : isoTime(Math.floor(startedUnixUs / 1_000)),
    startedUnixUs,
    wallUs: attribution.wallUs,
    status: root.status,
    decision: tree.spans.some(({ kind }) => kind === "tool-call") ? "tools" : "answer",
    phases: attribution.phases,
    subs: [...attribution.subs],
    steps: stepsOf(tree, attribution),
    path: attribution.slices.map(({ span, startUs, endUs, phase, sub }) => ({
      spanId: tree.spans[span]!.id,
      startUs: startUs - originUs,
      endUs: endUs - originUs,
      phase,
      sub,
    })),
    work: { busyUs, coveredUs, parallelism },
    flags: flagsOf(tree, attribution, dropped, findings),
    findings: findings.slice(0, FINDINGS_MAX).map((finding) => shiftedFinding(finding, originUs)),
    dropped,
    environment: { ...options.environment, "manx.version": VERSION },
    spans: tree.spans.map((span) => shiftedSpan(span, originUs)),
  };
}

/** Each step's phases: every instant of the turn has one, so an interval of it has as much of each as lies inside. */
function stepsOf(tree: TurnTree, { slices }: Attribution): TurnRecord["steps"] {
  const steps: TurnRecord["steps"] = [];
  const [lowUs, highUs] = [tree.startsUs[0]!, tree.endsUs[0]!];
  for (let index = 0; index < tree.spans.length; index += 1) {
    if (tree.spans[index]!.kind !== "step") continue;
    const startUs = Math.max(lowUs, tree.startsUs[index]!);
    const endUs = Math.max(startUs, Math.min(highUs, tree.endsUs[index]!));
    const phases = phasesBetween(slices, startUs, endUs);
    const { id } = tree.spans[index]!;
    steps.push({ spanId: id, startUs: startUs - lowUs, endUs: endUs - lowUs, phases });
  }
  return steps.sort((a, b) => a.startUs - b.startUs || a.endUs - b.endUs);
}

function phasesBetween(
  slices: Attribution["slices"],
  startUs: number,
  endUs: number,
): Record<Phase, number> {
  const phases = noTime();
  for (let i = firstAfter(slices, startUs); i < slices.length; i += 1) {
    const slice = slices[i]!;
    if (slice.startUs >= endUs) break;
    phases[slice.phase] += Math.min(endUs, slice.endUs) - Math.max(startUs, slice.startUs);
  }
  return phases;
}

/** The first slice that ends after an instant, by halving: a turn may have many steps and many slices. */
function firstAfter(slices: Attribution["slices"], atUs: number): number {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (slices[middle]!.endUs > atUs) high = middle;
    else low = middle + 1;
  }
  return low;
}

function noTime(): Record<Phase, number> {
  return Object.fromEntries(PHASES.map((phase) => [phase, 0])) as Record<keyof PhaseTimes, number>;
}

const COLD_CAUSES_MAX = 20;

function flagsOf(
  tree: TurnTree,
  attribution: Attribution,
  dropped: DroppedCounts,
  findings: readonly Finding[],
): TurnRecord["flags"] {
  const cold = new Set<string>();
  for (const { kind, cold: cause } of tree.spans) {
    if (cold.size >= COLD_CAUSES_MAX) break;
    if (cause !== undefined) cold.add(cause);
    else if (kind === "startup") cold.add("startup");
  }
  const isIncomplete = ({ code }: Finding): boolean =>
    code === "no-root" || code === "missing-parent" || code === "unreachable-span";
  return {
    cold: [...cold].sort(),
    notInstrumented: attribution.holes.length > 0,
    truncated: Object.values(dropped).some((count) => count > 0),
    incomplete: tree.orphans > 0 || findings.some(isIncomplete),
  };
}

function shiftedFinding(finding: Finding, originUs: number): Finding {
  if (originUs === 0) return finding;
  const shift = (atUs: number | null): number | null => (atUs === null ? null : atUs - originUs);
  return { ...finding, startUs: shift(finding.startUs), endUs: shift(finding.endUs) };
}

function shiftedSpan(span: Span, originUs: number): TurnRecord["spans"][number] {
  return {
    ...span,
    startUs: Math.round(span.startUs) - originUs,
    endUs: Math.max(Math.round(span.startUs), Math.round(span.endUs)) - originUs,
    events: span.events.map(({ name, atUs }) => ({ name, atUs: Math.round(atUs) - originUs })),
  };
}
