/**
 * What a span's own time counts as. Kind decides; what has no phase of its own takes after its parent; what holds an agent's
 * steps together is structure, whose own time is short glue or a hole (attribution.ts tells which).
 *
 * | kind | own time |
 * | --- | --- |
 * | a declared `phase` | that phase |
 * | model-call, its attempt | prefill up to the first output, decode up to the last one and in the tail of the stream, else orchestration (consumer) |
 * | tool-call, its attempt | tools |
 * | attempt that was lost; a model call that failed before any output | orchestration (retry) |
 * | between two attempts of one call; back-off | orchestration (back-off) |
 * | assembly, retrieval, guardrail, orchestration | itself |
 * | startup | cold start, in the phase of what it serves; one that has parts is structure |
 * | queue, connect | queue or connect, in the phase of what waited |
 * | other | as its parent |
 * | turn, step, agent | structure |
 */
import { attemptsOf, isLost } from "./attempts.ts";
import type { Phase, PhaseSub } from "./phase.ts";
import { EVENT, type Span } from "./span.ts";
import type { TurnTree } from "./turn-tree.ts";

/** Instants inside a model call; undefined where nobody recorded one. */
export interface ModelMarks {
  readonly placeUs: number | undefined;
  readonly connectedUs: number | undefined;
  readonly firstUs: number | undefined;
  readonly lastUs: number | undefined;
  /** The stream was waited for behind its last output, from and to. */
  readonly tailUs: readonly [fromUs: number, toUs: number] | undefined;
  /** Pairs of start and end in order of time. */
  readonly stallsUs: readonly number[];
}

export type SpanRole =
  | { readonly type: "fixed"; readonly phase: Phase; readonly sub: PhaseSub | null }
  | { readonly type: "structure" }
  | { readonly type: "model"; readonly marks: ModelMarks }
  /** A call with attempts: its own time lies before, between or after them. */
  | {
      readonly type: "call";
      readonly of: "model" | "tool";
      readonly firstAttemptUs: number;
      readonly lastAttemptUs: number;
      readonly winner: number;
      readonly marks: ModelMarks;
    };

const STRUCTURE: SpanRole = { type: "structure" };
const RETRY = fixed("orchestration", "retry");

/** @returns one role for each span of the tree, by its index. */
export function spanRoles(tree: TurnTree): SpanRole[] {
  const roles: SpanRole[] = [];
  for (let index = 0; index < tree.spans.length; index += 1) {
    // Breadth first: the parent's role is there.
    roles.push(roleOf(tree, index, roles[tree.parents[index]!] ?? STRUCTURE));
  }
  return roles;
}

function roleOf(tree: TurnTree, index: number, above: SpanRole): SpanRole {
  const span = tree.spans[index]!;
  if (span.phase !== undefined) return fixed(span.phase, declaredSub(span));
  switch (span.kind) {
    case "turn":
    case "step":
    case "agent":
      return STRUCTURE;
    case "model-call":
    case "tool-call":
      return callRole(tree, index);
    case "attempt":
      return attemptRole(tree, index, above);
    case "assembly":
    case "retrieval":
    case "orchestration":
      return fixed(span.kind, null);
    case "guardrail":
      return fixed("guardrails", null);
    case "startup":
      return startupRole(tree, index, above);
    case "queue":
    case "connect":
      return fixed(servedPhase(above), span.kind);
    case "back-off":
      return fixed("orchestration", "back-off");
    case "dropped":
    case "missing-parent":
      return fixed("unattributed", span.kind);
    case "other":
      return above;
  }
}

function callRole(tree: TurnTree, index: number): SpanRole {
  const span = tree.spans[index]!;
  const of = span.kind === "model-call" ? "model" : "tool";
  const call = attemptsOf(tree, index);
  if (call !== undefined) {
    const { attempts, winner } = call;
    return {
      type: "call",
      of,
      firstAttemptUs: tree.startsUs[attempts[0]!]!,
      // A loser that takes its time to give up holds nobody up.
      lastAttemptUs: (winner < 0 ? attempts : [winner]).reduce(
        (us, one) => Math.max(us, tree.endsUs[one]!),
        Number.NEGATIVE_INFINITY,
      ),
      winner,
      marks: marksOf(span),
    };
  }
  if (of === "tool") return fixed("tools", null);
  const marks = marksOf(span);
  // One that broke off had begun: its time was a model's.
  return span.status === "error" && marks.firstUs === undefined ? RETRY : { type: "model", marks };
}

function attemptRole(tree: TurnTree, index: number, above: SpanRole): SpanRole {
  if (above.type !== "call") return above;
  if (isLost(tree, index, above.winner)) return RETRY;
  if (above.of === "tool") return fixed("tools", null);
  return { type: "model", marks: mergedMarks(marksOf(tree.spans[index]!), above.marks) };
}

function startupRole(tree: TurnTree, index: number, above: SpanRole): SpanRole {
  const hasParts = tree.children(index).some((kid) => tree.spans[kid]!.kind === "startup");
  return hasParts ? STRUCTURE : fixed(servedPhase(above), "cold-start");
}

/** The phase of whatever waits for a queue, a connection or a start-up inside a span of this role. */
function servedPhase(role: SpanRole): Phase {
  if (role.type === "fixed") return role.phase;
  if (role.type === "structure") return "orchestration";
  return role.type === "call" && role.of === "tool" ? "tools" : "prefill";
}

function declaredSub(span: Span): PhaseSub | null {
  switch (span.kind) {
    case "startup":
      return "cold-start";
    case "queue":
    case "connect":
    case "back-off":
      return span.kind;
    default:
      return null;
  }
}

function fixed(phase: Phase, sub: PhaseSub | null): SpanRole {
  return { type: "fixed", phase, sub };
}

const NO_STALLS: readonly number[] = [];
const NO_MARKS: ModelMarks = {
  placeUs: undefined,
  connectedUs: undefined,
  firstUs: undefined,
  lastUs: undefined,
  tailUs: undefined,
  stallsUs: NO_STALLS,
};

/** An event outside of the span says that the span is wrong, not where its phases part. */
function marksOf(span: Span): ModelMarks {
  if (span.events.length === 0) return NO_MARKS;
  const within = span.events.filter(({ atUs }) => atUs >= span.startUs && atUs <= span.endUs);
  const first = (name: string): number | undefined =>
    within.find((event) => event.name === name)?.atUs;
  return {
    placeUs: first(EVENT.placeGranted),
    connectedUs: first(EVENT.connectionReady),
    firstUs: first(EVENT.outputStart),
    lastUs: within.findLast((event) => event.name === EVENT.outputEnd)?.atUs,
    tailUs: tailOf(first(EVENT.tailStart), first(EVENT.tailEnd)),
    stallsUs: stallsOf(within),
  };
}

function tailOf(fromUs?: number, toUs?: number): ModelMarks["tailUs"] {
  return fromUs === undefined || toUs === undefined ? undefined : [fromUs, toUs];
}

function stallsOf(events: Span["events"]): readonly number[] {
  const starts = events.filter((event) => event.name === EVENT.stallStart);
  if (starts.length === 0) return NO_STALLS;
  const ends = events.filter((event) => event.name === EVENT.stallEnd);
  const stallsUs: number[] = [];
  for (const [i, start] of starts.entries()) {
    const endUs = ends[i]?.atUs;
    const isNext = start.atUs >= (stallsUs.at(-1) ?? start.atUs);
    if (endUs !== undefined && endUs > start.atUs && isNext) stallsUs.push(start.atUs, endUs);
  }
  return stallsUs;
}

/** The attempt's own marks, and the call's where it has none: some instrumentations mark the outer span only. */
function mergedMarks(own: ModelMarks, call: ModelMarks): ModelMarks {
  if (call === NO_MARKS) return own;
  return {
    placeUs: own.placeUs ?? call.placeUs,
    connectedUs: own.connectedUs ?? call.connectedUs,
    firstUs: own.firstUs ?? call.firstUs,
    lastUs: own.lastUs ?? call.lastUs,
    // Where the output ends on one, its tail does too.
    tailUs: own.lastUs === undefined ? call.tailUs : own.tailUs,
    stallsUs: own.stallsUs.length > 0 ? own.stallsUs : call.stallsUs,
  };
}
