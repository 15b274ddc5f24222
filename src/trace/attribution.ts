/**
 * One turn, phase by phase. The critical path gives each instant to one span; the span's role gives it a phase. Sections
 * of structure (turn, step, agent) are glue as long as they are short. What is longer is no glue: nothing in the turn says
 * what happened there, so it is unattributed, with the reason, and never given to a neighbour or a likely culprit.
 *
 * Invariant: the phases sum to the turn's wall time, to the microsecond; asserted on every turn.
 */
import { assert } from "../core/index.ts";
import { criticalPath, type PathOptions } from "./critical-path.ts";
import { PHASES, type Phase, type PhaseSub, type PhaseTimes } from "./phase.ts";
import { cutSection, type PhaseSlice } from "./section-cut.ts";
import { spanRoles } from "./span-role.ts";
import type { TurnTree } from "./turn-tree.ts";

export interface AttributionOptions extends PathOptions {
  /**
   * The longest stretch without any span inside that counts as the agent's own glue. Default 100 ms: what an agent does
   * between two calls takes single milliseconds, the first time of a process some tens.
   */
  readonly glueMaxUs?: number;
}

const GLUE_MAX_US = 100_000;

/** A slice whose phase is known or known to be unknown. */
export interface AttributedSlice extends PhaseSlice {
  readonly phase: Phase;
}

export interface SubTime {
  readonly phase: Phase;
  readonly sub: PhaseSub;
  readonly us: number;
}

/** A stretch of structure that is too long to be glue. */
export interface Hole {
  readonly startUs: number;
  readonly endUs: number;
  /** The span, by index, in which most of it lies. */
  readonly span: number;
}

export interface Attribution {
  readonly wallUs: number;
  readonly phases: PhaseTimes;
  /** Second level, in order of phase, then of time; what has none is the rest of its phase. */
  readonly subs: readonly SubTime[];
  /** The critical path with its phases, in order of time, without gap or overlap. */
  readonly slices: readonly AttributedSlice[];
  readonly holes: readonly Hole[];
}

export function attribute(tree: TurnTree, options: AttributionOptions = {}): Attribution {
  const roles = spanRoles(tree);
  const cut: PhaseSlice[] = [];
  for (const section of criticalPath(tree, options)) {
    cutSection(section, roles[section.span]!, cut);
  }
  const holes: Hole[] = [];
  const slices = fillStructure(tree, cut, options.glueMaxUs ?? GLUE_MAX_US, holes);
  const phases = Object.fromEntries(PHASES.map((phase) => [phase, 0])) as Record<Phase, number>;
  const subs = new Map<string, { phase: Phase; sub: PhaseSub; us: number }>();
  for (const { phase, sub, startUs, endUs } of slices) {
    phases[phase] += endUs - startUs;
    if (sub === null) continue;
    const key = `${phase} ${sub}`;
    const before = subs.get(key);
    if (before === undefined) subs.set(key, { phase, sub, us: endUs - startUs });
    else before.us += endUs - startUs;
  }
  const sumUs = PHASES.reduce((sum, phase) => sum + phases[phase], 0);
  assert(sumUs === tree.wallUs, `phases sum to wall time: ${sumUs} of ${tree.wallUs} µs`);
  const byPhase = [...subs.values()].sort(
    (a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) || b.us - a.us,
  );
  return { wallUs: tree.wallUs, phases, subs: byPhase, slices, holes };
}

/** Decides each stretch of structure as a whole, however many spans share it. */
function fillStructure(
  tree: TurnTree,
  cut: readonly PhaseSlice[],
  glueMaxUs: number,
  holes: Hole[],
): AttributedSlice[] {
  const slices: AttributedSlice[] = [];
  for (let from = 0; from < cut.length; ) {
    const slice = cut[from]!;
    if (slice.phase !== null) {
      addSlice(slices, slice as AttributedSlice);
      from += 1;
      continue;
    }
    let until = from + 1;
    while (until < cut.length && cut[until]!.phase === null) until += 1;
    const stretch = cut.slice(from, until);
    const [startUs, endUs] = [slice.startUs, cut[until - 1]!.endUs];
    const isAll = from === 0 && until === cut.length;
    let [phase, sub]: [Phase, PhaseSub | null] = ["orchestration", null];
    if (isBackOff(tree, cut[from - 1], cut[until])) sub = "back-off";
    else if (isAll || endUs - startUs > glueMaxUs) {
      [phase, sub] = ["unattributed", "not-instrumented"];
      holes.push({ startUs, endUs, span: widest(stretch) });
      // The first thing that an agent does is to put its input together.
    } else if (from === 0) phase = "assembly";
    for (const one of stretch) addSlice(slices, { ...one, phase, sub });
    from = until;
  }
  return slices;
}

/** A model call failed and its parent made the next one: what lies between is the wait before another try. */
function isBackOff(
  tree: TurnTree,
  before: PhaseSlice | undefined,
  after: PhaseSlice | undefined,
): boolean {
  if (before === undefined || after === undefined) return false;
  const [failed, next] = [tree.spans[before.span]!, tree.spans[after.span]!];
  return (
    failed.kind === "model-call" &&
    failed.status === "error" &&
    next.kind === "model-call" &&
    failed.parentId === next.parentId
  );
}

function widest(stretch: readonly PhaseSlice[]): number {
  const usOf = new Map<number, number>();
  let best = stretch[0]!.span;
  for (const { span, startUs, endUs } of stretch) {
    usOf.set(span, (usOf.get(span) ?? 0) + endUs - startUs);
    if (usOf.get(span)! > usOf.get(best)!) best = span;
  }
  return best;
}

/** Two pieces of one span that are told apart by nothing are one. */
function addSlice(slices: AttributedSlice[], slice: AttributedSlice): void {
  const last = slices.at(-1);
  if (last?.span === slice.span && last.phase === slice.phase && last.sub === slice.sub) {
    slices[slices.length - 1] = { ...last, endUs: slice.endUs };
  } else slices.push(slice);
}
