/**
 * The spans of one turn as a tree that can be walked without asking again: parents before children, siblings in one order
 * whatever order they came in, each id once, no cycle, no end before its start. Nothing here recurses, so depth is no limit.
 */
import { ManxError } from "../core/index.ts";
import type { Span } from "./span.ts";

const NO_CHILDREN: readonly number[] = [];

export class TurnTree {
  /** Reached from the root, breadth first; the root is at 0. Other fields go by this index. */
  readonly spans: readonly Span[];
  /** −1 for the root. */
  readonly parents: Int32Array;
  readonly depths: Int32Array;
  /** Whole µs. */
  readonly startsUs: Float64Array;
  readonly endsUs: Float64Array;
  /** Spans under an id that is not there; they hang under the root. */
  readonly orphans: number;
  /** Spans whose ancestors go round in a circle; left out. */
  readonly unreachable: number;
  /** Spans that came twice; the one with the later end, then with more attributes, is kept. */
  readonly duplicates: number;
  readonly #children: (readonly number[])[];
  readonly #indexes = new Map<string, number>();

  /**
   * @param rootId default: the span of kind `turn`, else the longest one without a parent.
   * @throws MANX_TRACE_FORMAT if there is no such span.
   */
  constructor(spans: readonly Span[], rootId?: string) {
    const byId = uniqueSpans(spans);
    this.duplicates = spans.length - byId.size;
    const root = rootOf(byId, rootId);
    const childrenOf = new Map<string, Span[]>();
    let orphans = 0;
    for (const span of byId.values()) {
      if (span === root) continue;
      const known = span.parentId !== null && byId.has(span.parentId);
      if (!known) orphans += 1;
      const parent = known ? span.parentId! : root.id;
      const siblings = childrenOf.get(parent);
      if (siblings === undefined) childrenOf.set(parent, [span]);
      else siblings.push(span);
    }
    this.orphans = orphans;
    const ordered: Span[] = [root];
    const parents: number[] = [-1];
    this.#children = [];
    for (let index = 0; index < ordered.length; index += 1) {
      const { id } = ordered[index]!;
      this.#indexes.set(id, index);
      const kids = childrenOf.get(id);
      if (kids === undefined) {
        this.#children.push(NO_CHILDREN);
        continue;
      }
      if (kids.length > 1) kids.sort(bySiblingOrder);
      const first = ordered.length;
      for (const kid of kids) {
        ordered.push(kid);
        parents.push(index);
      }
      this.#children.push(kids.map((_, offset) => first + offset));
    }
    this.spans = ordered;
    this.unreachable = byId.size - ordered.length;
    this.parents = Int32Array.from(parents);
    this.depths = new Int32Array(ordered.length);
    for (let i = 1; i < ordered.length; i += 1) this.depths[i] = this.depths[parents[i]!]! + 1;
    this.startsUs = Float64Array.from(ordered, (span) => Math.round(span.startUs));
    this.endsUs = Float64Array.from(ordered, (span, i) =>
      Math.max(this.startsUs[i]!, Math.round(span.endUs)),
    );
  }

  get wallUs(): number {
    return this.endsUs[0]! - this.startsUs[0]!;
  }

  /** By start, then end, then id. */
  children(index: number): readonly number[] {
    return this.#children[index]!;
  }

  indexOf(id: string): number | undefined {
    return this.#indexes.get(id);
  }
}

function uniqueSpans(spans: readonly Span[]): Map<string, Span> {
  const byId = new Map<string, Span>();
  for (const span of spans) {
    const before = byId.get(span.id);
    if (before === undefined || isFuller(span, before)) byId.set(span.id, span);
  }
  return byId;
}

function isFuller(span: Span, before: Span): boolean {
  if (span.endUs !== before.endUs) return span.endUs > before.endUs;
  return Object.keys(span.attributes).length > Object.keys(before.attributes).length;
}

function rootOf(byId: ReadonlyMap<string, Span>, rootId: string | undefined): Span {
  let root = rootId === undefined ? undefined : byId.get(rootId);
  if (rootId === undefined) {
    for (const span of byId.values()) {
      if (span.parentId !== null && byId.has(span.parentId)) continue;
      if (root === undefined || isRootlier(span, root)) root = span;
    }
  }
  if (root !== undefined) return root;
  throw new ManxError("MANX_TRACE_FORMAT", {
    what: "a turn without a root span",
    expected: rootId === undefined ? "a span without a parent" : `a span ${rootId}`,
    got: `${byId.size} spans`,
    hint: "give all spans of the turn, the outermost included",
  });
}

function isRootlier(span: Span, root: Span): boolean {
  if ((span.kind === "turn") !== (root.kind === "turn")) return span.kind === "turn";
  const longerUs = span.endUs - span.startUs - (root.endUs - root.startUs);
  return longerUs !== 0 ? longerUs > 0 : span.id < root.id;
}

function bySiblingOrder(a: Span, b: Span): number {
  return a.startUs - b.startUs || a.endUs - b.endUs || (a.id < b.id ? -1 : 1);
}
