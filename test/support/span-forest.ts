/** Spans for tests: a short way to write one turn, and random forests. */
import fc from "fast-check";
import type { Span, SpanKind, SpanLink } from "../../src/trace/index.ts";

type SpanParts = Partial<Omit<Span, "links">> & { readonly after?: readonly string[] };

/** @param parent null for the root. Times in whatever unit the test thinks in; default status `ok`. */
export function span(
  id: string,
  parent: string | null,
  kind: SpanKind,
  startUs: number,
  endUs: number,
  { after = [], ...rest }: SpanParts = {},
): Span {
  const links = after.map((spanId): SpanLink => ({ spanId, relation: "after" }));
  const base = { id, parentId: parent, kind, name: id, startUs, endUs, status: "ok" } as const;
  return { ...base, attributes: {}, events: [], links, ...rest };
}

const KINDS: readonly SpanKind[] = [
  "step",
  "agent",
  "model-call",
  "tool-call",
  "attempt",
  "assembly",
  "retrieval",
  "guardrail",
  "orchestration",
  "startup",
  "queue",
  "connect",
  "back-off",
  "other",
  "dropped",
  "missing-parent",
];
const EVENTS = [
  "place-granted",
  "connection-ready",
  "output-start",
  "output-end",
  "stall-start",
  "stall-end",
  "else",
];

const event = fc.record({
  name: fc.constantFrom(...EVENTS),
  atUs: fc.integer({ min: -20, max: 220 }),
});

/**
 * A turn from 0 to 200 with spans anywhere around it: outside of their parents, of length 0, overlapping, with parents that
 * are not there, with links to anything.
 */
export const spanForest: fc.Arbitrary<Span[]> = fc
  .array(
    fc.record({
      parent: fc.nat(),
      kind: fc.constantFrom(...KINDS),
      startUs: fc.integer({ min: -20, max: 220 }),
      lengthUs: fc.integer({ min: 0, max: 150 }),
      status: fc.constantFrom("ok", "error", "cancelled", "unset"),
      detached: fc.integer({ min: 0, max: 9 }),
      events: fc.array(event, { maxLength: 6 }),
      after: fc.array(fc.nat({ max: 25 }), { maxLength: 2 }),
    }),
    { maxLength: 25 },
  )
  .map((rows) => [
    span("s0", null, "turn", 0, 200),
    ...rows.map((row, i) =>
      span(
        `s${i + 1}`,
        `s${row.parent % (i + 2)}`,
        row.kind,
        row.startUs,
        row.startUs + row.lengthUs,
        {
          status: row.status as Span["status"],
          events: row.events,
          after: row.after.map((one) => `s${one}`),
          ...(row.detached === 0 && { detached: true as const }),
        },
      ),
    ),
  ]);
