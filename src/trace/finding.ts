/**
 * What is wrong with a turn's spans, or cannot be known from them. A phase with no time, or with little, is only as good as
 * what is said here: these stand beside the numbers, never in a log.
 */
import type { Attribution } from "./attribution.ts";
import type { Span } from "./span.ts";
import type { TurnTree } from "./turn-tree.ts";

export const FINDING_CODES = [
  /** A span without children, in which nothing says what happened. */
  "not-instrumented",
  /** Time between children that is too long to be glue. */
  "gap",
  /** An event lies after the span's end: it was closed before its work was done. */
  "closed-early",
  /** Never ended; closed with the turn. */
  "unfinished",
  /** Ended after its parent did. */
  "late-child",
  /** A model call without its first output: prefill and decode cannot be told apart. */
  "not-separable",
  /** More spans than a turn records. */
  "dropped",
  /** A parent that was never received. */
  "missing-parent",
  /** No root was received; the turn is what its spans cover. */
  "no-root",
  /** Came more than once. */
  "duplicate-span",
  /** Its ancestors go round in a circle. */
  "unreachable-span",
  /** Ended before it began; taken as of length 0. */
  "reversed-time",
  /** An instant that has lost its last digits on the way. */
  "imprecise-time",
  /** An id in another form than hex. */
  "odd-id",
  /** A figure in a unit that is a guess. */
  "unit-guessed",
  /** A figure that cannot be true, left out. */
  "implausible",
  /** Its instrumentation ends it too late; it was cut. */
  "cut-span",
] as const;

export type FindingCode = (typeof FINDING_CODES)[number];

export interface Finding {
  readonly code: FindingCode;
  readonly text: string;
  /** null: the turn as a whole. */
  readonly spanId: string | null;
  /** µs from the turn's start; null if it is no stretch of time. */
  readonly startUs: number | null;
  readonly endUs: number | null;
}

export const FINDINGS_MAX = 100;

/** What the tree and its attribution show; at most `FINDINGS_MAX`, holes first. */
export function findingsOf(tree: TurnTree, attribution: Attribution): Finding[] {
  const findings = [...holeFindings(tree, attribution), ...wholeFindings(tree)];
  for (let index = 0; index < tree.spans.length; index += 1) {
    if (findings.length >= FINDINGS_MAX) break;
    spanFindings(tree, index, findings);
  }
  return findings.slice(0, FINDINGS_MAX);
}

function holeFindings(tree: TurnTree, { holes, slices }: Attribution): Finding[] {
  const findings: Finding[] = [];
  let at = 0;
  for (const { startUs, endUs, span: index } of holes.slice(0, FINDINGS_MAX)) {
    while (at < slices.length && slices[at]!.startUs < startUs) at += 1;
    const span = tree.spans[index]!;
    const before = at === 0 ? undefined : tree.spans[slices[at - 1]!.span];
    const isLeaf = tree.children(index).length === 0;
    findings.push({
      code: isLeaf ? "not-instrumented" : "gap",
      text: isLeaf
        ? `nothing inside ${quoted(span)} says what happened`
        : before === undefined
          ? `nothing says what happened in ${quoted(span)} before its first span`
          : `nothing says what happened in ${quoted(span)} after ${quoted(before)}`,
      spanId: span.id,
      startUs,
      endUs,
    });
  }
  return findings;
}

function wholeFindings({ duplicates, unreachable }: TurnTree): Finding[] {
  const findings: Finding[] = [];
  const add = (code: FindingCode, text: string): void => {
    findings.push({ code, text, spanId: null, startUs: null, endUs: null });
  };
  if (duplicates > 0) add("duplicate-span", `${duplicates} spans came more than once`);
  if (unreachable > 0) add("unreachable-span", `${unreachable} spans hang on no root; left out`);
  return findings;
}

function spanFindings(tree: TurnTree, index: number, findings: Finding[]): void {
  const span = tree.spans[index]!;
  const [startUs, endUs] = [tree.startsUs[index]!, tree.endsUs[index]!];
  const add = (code: FindingCode, text: string, fromUs = startUs, toUs = endUs): void => {
    findings.push({ code, text, spanId: span.id, startUs: fromUs, endUs: toUs });
  };
  if (span.kind === "dropped") add("dropped", "spans over the limit; only their time is known");
  if (span.kind === "missing-parent") add("missing-parent", "stands for a span that never came");
  if (span.endUs < span.startUs) add("reversed-time", `${quoted(span)} ended before it began`);
  if (span.unfinished === true) add("unfinished", `${quoted(span)} was never ended`);
  const lastUs = span.events.reduce((us, event) => Math.max(us, event.atUs), endUs);
  if (lastUs > endUs) {
    add("closed-early", `${quoted(span)} was closed before its last event`, endUs, lastUs);
  }
  if (isNotSeparable(tree, index)) {
    add("not-separable", `${quoted(span)} does not say when its first output came`);
  }
  const parent = tree.parents[index]!;
  if (parent < 0) return;
  const parentEndUs = tree.endsUs[parent]!;
  if (endUs > parentEndUs && span.detached !== true) {
    add("late-child", `${quoted(span)} ended after ${quoted(tree.spans[parent]!)}`, parentEndUs);
  }
}

/** A model call that ended well and says nothing of its first output, itself or by an attempt. */
function isNotSeparable(tree: TurnTree, index: number): boolean {
  const span = tree.spans[index]!;
  if (span.kind !== "model-call" || span.status === "error" || span.phase !== undefined)
    return false;
  const hasOutput = ({ events, startUs, endUs }: Span): boolean =>
    events.some(({ name, atUs }) => name === "output-start" && atUs >= startUs && atUs <= endUs);
  return !hasOutput(span) && !tree.children(index).some((kid) => hasOutput(tree.spans[kid]!));
}

const NAME_SHOWN_MAX = 60;

function quoted({ name }: Span): string {
  return `"${name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX - 1)}…` : name}"`;
}
