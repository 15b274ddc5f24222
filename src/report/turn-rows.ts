/** The spans of a turn as rows in tree order, each with what it has of the critical path. */
import type { TurnRecord } from "../trace/index.ts";

type Span = TurnRecord["spans"][number];

interface PathPart {
  readonly startUs: number;
  readonly endUs: number;
  /** Nothing was worked on: a queue, a connection, a lost attempt, a pause. */
  readonly isWaiting: boolean;
}

export interface TreeRow {
  readonly label: string;
  readonly depth: number;
  readonly startUs: number;
  readonly endUs: number;
  readonly durationUs: number;
  /** On the critical path, the span's own and its descendants'. */
  readonly pathUs: number;
  readonly sections: readonly PathPart[];
}

const WAITING: ReadonlySet<string> = new Set(["queue", "connect", "retry", "back-off", "stall"]);

/**
 * @param rowsMax further spans are left out, those with the least time on the path first.
 * @returns rows in tree order: parents before children, siblings by their start.
 */
export function turnRows(turn: TurnRecord, rowsMax: number): { rows: TreeRow[]; leftOut: number } {
  const children = childrenById(turn.spans);
  const sections = sectionsById(turn);
  const ordered: { span: Span; depth: number }[] = [];
  const stack = [{ span: turn.spans[0]!, depth: 0 }];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    ordered.push(top);
    for (const span of (children.get(top.span.id) ?? []).toReversed()) {
      stack.push({ span, depth: top.depth + 1 });
    }
  }
  const pathUs = pathTimes(ordered, sections);
  const all = ordered.map(({ span, depth }): TreeRow => {
    const { startUs, endUs } = span;
    return {
      label: labelOf(span),
      depth,
      startUs,
      endUs,
      durationUs: endUs - startUs,
      pathUs: pathUs.get(span.id) ?? 0,
      sections: sections.get(span.id) ?? [],
    };
  });
  const kept = new Set(
    all
      .map((row, index) => ({ row, index }))
      .sort((a, b) => b.row.pathUs - a.row.pathUs || a.index - b.index)
      .slice(0, rowsMax)
      .map(({ row }) => row),
  );
  const rows = all.filter((row) => kept.has(row));
  return { rows, leftOut: all.length - rows.length };
}

function childrenById(spans: readonly Span[]): Map<string, Span[]> {
  const children = new Map<string, Span[]>();
  for (const span of spans.slice(1)) {
    const parent = span.parentId ?? spans[0]!.id;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [span]);
    else siblings.push(span);
  }
  for (const siblings of children.values()) siblings.sort((a, b) => a.startUs - b.startUs);
  return children;
}

function sectionsById({ path }: TurnRecord): Map<string, PathPart[]> {
  const sections = new Map<string, PathPart[]>();
  for (const { spanId, startUs, endUs, sub } of path) {
    const part = { startUs, endUs, isWaiting: sub !== null && WAITING.has(sub) };
    const before = sections.get(spanId);
    if (before === undefined) sections.set(spanId, [part]);
    else before.push(part);
  }
  return sections;
}

/** Own sections, then upwards: children stand after their parents. */
function pathTimes(
  ordered: readonly { span: Span }[],
  sections: ReadonlyMap<string, readonly PathPart[]>,
): Map<string, number> {
  const times = new Map<string, number>();
  for (const { span } of ordered.toReversed()) {
    const own = sections.get(span.id) ?? [];
    const us =
      (times.get(span.id) ?? 0) + own.reduce((sum, part) => sum + part.endUs - part.startUs, 0);
    times.set(span.id, us);
    if (span.parentId !== null) times.set(span.parentId, (times.get(span.parentId) ?? 0) + us);
  }
  return times;
}

/** The kind, unless the name says it already; how it ended, unless it ended well. */
function labelOf({ name, kind, status, unfinished, cold }: Span): string {
  const facts = [
    ...(name.includes(kind) ? [] : [kind]),
    ...(status === "error" || status === "cancelled" ? [status] : []),
    ...(unfinished === true ? ["unfinished"] : []),
    ...(cold === undefined ? [] : ["cold"]),
  ];
  return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
}
