/**
 * The critical path of a turn: walked back from the turn's end, always to what the present had to wait for. It cuts the
 * turn into sections `(span, from, to)` without gap or overlap.
 *
 *     step  ├──────────────────────────────────────────┤      walked back from the right:
 *     model   ├──────────────────┤                            tool B, the last finisher
 *     tool A              ├────────────┤                      model, which ran when B began
 *     tool B                  ├─────────────────────┤
 *     path  s│─── model ──────│────── tool B ────────│ s      A had slack: it is on no section
 *
 * At an instant the next section is, in this order:
 * 1. a span that the one just walked names as its `after` link: recorded dependencies need no guess;
 * 2. the sibling that ended last before the instant, if it ended within `lagUs` of it or if no other sibling was running;
 * 3. the running sibling that ends last: a parent's own time is only what no child covers, so it is never negative;
 * 4. the parent itself.
 *
 * An attempt that lost against another counts up to the winner's start only. A detached child is no part. Walk and name
 * follow Uber's CRISP (Zhang et al., USENIX ATC 2022), which gives overlaps to the parent: without 3 (`overlaps: "parent"`)
 * the walk repeats its answers but for ends that touch (test/parity/crisp.test.ts).
 */
import { attemptsOf } from "./attempts.ts";
import type { SpanKind } from "./span.ts";
import type { TurnTree } from "./turn-tree.ts";

export interface PathSection {
  /** Index in the tree. */
  readonly span: number;
  readonly startUs: number;
  readonly endUs: number;
  /** From here on only the last branch of a fan-out ran; infinite if the section is in none. */
  readonly joinFromUs: number;
}

export interface PathOptions {
  /** How late a span may begin after what it waited for. Default 1 ms: timers and event loops are no more exact. */
  readonly lagUs?: number;
  /**
   * Who has the time in which only a sibling ran that outlasted the next section: that sibling (`covered`, the default),
   * or the parent, as in CRISP (`parent`).
   */
  readonly overlaps?: "covered" | "parent";
}

const PATH_LAG_US = 1_000;
const NEVER = Number.POSITIVE_INFINITY;

interface Kid {
  readonly span: number;
  readonly startUs: number;
  readonly endUs: number;
}

interface Frame {
  readonly span: number;
  readonly lowUs: number;
  readonly highUs: number;
  readonly joinFromUs: number;
}

/** Kinds that are branches when two of them overlap; a guardrail beside a stream is no fan-out of the stream. */
const BRANCH_KINDS: ReadonlySet<SpanKind> = new Set([
  "agent",
  "model-call",
  "tool-call",
  "retrieval",
  "guardrail",
]);

/** @returns sections in order of time; none has length 0, and they cover the root's interval exactly. */
export function criticalPath(tree: TurnTree, options: PathOptions = {}): PathSection[] {
  const { lagUs = PATH_LAG_US, overlaps = "covered" } = options;
  const sections: PathSection[] = [];
  const stack: Frame[] = [];
  push(stack, {
    span: 0,
    lowUs: tree.startsUs[0]!,
    highUs: tree.endsUs[0]!,
    joinFromUs: NEVER,
  });
  for (let frame = stack.pop(); frame !== undefined; frame = stack.pop()) {
    walkBack(tree, frame, { lagUs, overlaps }, stack, sections);
  }
  return sections.sort((a, b) => a.startUs - b.startUs);
}

function push(stack: Frame[], frame: Frame): void {
  if (frame.highUs > frame.lowUs) stack.push(frame);
}

function walkBack(
  tree: TurnTree,
  frame: Frame,
  { lagUs, overlaps }: Required<PathOptions>,
  stack: Frame[],
  sections: PathSection[],
): void {
  const { span, lowUs, highUs, joinFromUs } = frame;
  const kids = blockingKids(tree, frame);
  const joins = kids.length > 1 ? joinStarts(tree, kids) : undefined;
  const own = (startUs: number, endUs: number): void => {
    if (endUs > startUs) sections.push({ span, startUs, endUs, joinFromUs });
  };
  const siblings = new Siblings(kids);
  let nowUs = highUs;
  let ended = 0; // the first kid that ended at or before now
  let running = 0; // the first kid that may still run now
  let last: Kid | undefined;
  for (;;) {
    while (ended < kids.length && kids[ended]!.endUs > nowUs) ended += 1;
    while (running < ended && kids[running]!.startUs >= nowUs) running += 1;
    const before = kids[ended];
    const beside = overlaps === "covered" && running < ended ? kids[running] : undefined;
    const isPrompt = before !== undefined && nowUs - before.endUs <= lagUs;
    const linked = last === undefined ? undefined : linkedKid(tree, last, siblings, nowUs);
    const next = linked ?? (beside === undefined || isPrompt ? before : beside);
    if (next === undefined) break;
    const endUs = Math.min(next.endUs, nowUs);
    own(endUs, nowUs);
    // A branch that was walked into from a later sibling's start was not what a join waited for.
    const joinUs = next.endUs > nowUs ? NEVER : (joins?.get(next) ?? NEVER);
    push(stack, {
      span: next.span,
      lowUs: next.startUs,
      highUs: endUs,
      joinFromUs: Math.min(joinFromUs, joinUs < endUs ? joinUs : NEVER),
    });
    nowUs = next.startUs;
    last = next;
  }
  own(lowUs, nowUs);
}

/** Children that the frame waited for, cut to it, the last finisher first. */
function blockingKids(tree: TurnTree, { span, lowUs, highUs }: Frame): Kid[] {
  const kids: Kid[] = [];
  const winner = attemptsOf(tree, span)?.winner ?? -1;
  for (const kid of tree.children(span)) {
    const { kind, detached } = tree.spans[kid]!;
    if (detached === true) continue;
    const startUs = Math.max(tree.startsUs[kid]!, lowUs);
    let endUs = Math.min(tree.endsUs[kid]!, highUs);
    if (kind === "attempt" && winner >= 0 && kid !== winner) {
      endUs = Math.min(endUs, tree.startsUs[winner]!);
    }
    if (endUs > startUs) kids.push({ span: kid, startUs, endUs });
  }
  return kids.sort((a, b) => b.endUs - a.endUs || b.startUs - a.startUs || a.span - b.span);
}

/** Further up than this a link is not followed: it is between calls of one step, not across the world. */
const LINK_CLIMB_MAX = 64;

/** Kids by their index in the tree; most frames ask for none. */
class Siblings {
  readonly #kids: readonly Kid[];
  #bySpan: Map<number, Kid> | undefined;

  constructor(kids: readonly Kid[]) {
    this.#kids = kids;
  }

  get(span: number): Kid | undefined {
    this.#bySpan ??= new Map(this.#kids.map((kid) => [kid.span, kid]));
    return this.#bySpan.get(span);
  }
}

/** The kid that `last` had to wait for by its own links and that ran before now: the one that got furthest. */
function linkedKid(tree: TurnTree, last: Kid, siblings: Siblings, nowUs: number): Kid | undefined {
  const { links } = tree.spans[last.span]!;
  let best: Kid | undefined;
  for (const { spanId, relation, traceId } of links) {
    if (relation !== "after" || traceId !== undefined) continue;
    const sibling = siblingAbove(tree, tree.indexOf(spanId), last.span);
    const kid = sibling === undefined ? undefined : siblings.get(sibling);
    if (kid === undefined || kid === last || kid.startUs >= nowUs) continue;
    if (best === undefined || Math.min(kid.endUs, nowUs) > Math.min(best.endUs, nowUs)) best = kid;
  }
  return best;
}

/** The ancestor of `index`, or itself, that has the same parent as `span`. */
function siblingAbove(tree: TurnTree, index: number | undefined, span: number): number | undefined {
  let at = index;
  for (let climbed = 0; at !== undefined && at > 0 && climbed < LINK_CLIMB_MAX; climbed += 1) {
    if (tree.parents[at] === tree.parents[span]) return at;
    at = tree.parents[at];
  }
  return undefined;
}

/**
 * For each kid that ended last of several overlapping ones of its kind: the instant at which the second last ended. One
 * pass from the last finisher on, and one back.
 */
function joinStarts(tree: TurnTree, kids: readonly Kid[]): Map<Kid, number> | undefined {
  const joins = new Map<Kid, number>();
  const nextEndUs = new Map<SpanKind, number>();
  const secondUs: number[] = [];
  for (let i = kids.length - 1; i >= 0; i -= 1) {
    const { kind } = tree.spans[kids[i]!.span]!;
    secondUs[i] = nextEndUs.get(kind) ?? -NEVER;
    nextEndUs.set(kind, kids[i]!.endUs);
  }
  const earliestUs = new Map<SpanKind, number>();
  for (const [i, kid] of kids.entries()) {
    const { kind } = tree.spans[kid.span]!;
    if (!BRANCH_KINDS.has(kind)) continue;
    // A longer one that began before this one ended: the join did not wait for this one.
    const isOutlasted = (earliestUs.get(kind) ?? NEVER) < kid.endUs;
    if (!isOutlasted && secondUs[i]! > kid.startUs) joins.set(kid, secondUs[i]!);
    earliestUs.set(kind, Math.min(earliestUs.get(kind) ?? NEVER, kid.startUs));
  }
  return joins.size === 0 ? undefined : joins;
}
