/**
 * The turn document: one turn with its phases, its critical path and its spans, as one versioned JSON document. Times are
 * whole microseconds from the turn's start. The published JSON Schema, schema/turn.schema.json, is made from this file
 * (`npm run schema`); a change that an old reader cannot bear raises TURN_SCHEMA_VERSION.
 */
import { z } from "zod";
import { FINDING_CODES } from "../finding.ts";
import { PHASE_SUBS, PHASES, type Phase } from "../phase.ts";
import { SPAN_KINDS } from "../span.ts";

export const TURN_SCHEMA_VERSION = 1;
/** Far above what the recorder keeps; an imported turn may have more than ours. */
export const TURN_SPANS_MAX = 100_000;

const us = z.number().int();
const spanUs = us.nonnegative();
const count = z.number().int().nonnegative();
const phase = z.enum(PHASES);
const sub = z.enum(PHASE_SUBS);
const phaseTimes = z
  .object(Object.fromEntries(PHASES.map((name) => [name, spanUs])) as Record<Phase, typeof spanUs>)
  .describe("µs of each phase; they sum to the wall time");

const span = z.object({
  id: z.string().min(1),
  parentId: z.string().min(1).nullable(),
  kind: z.enum(SPAN_KINDS),
  name: z.string(),
  startUs: us,
  endUs: us,
  status: z.enum(["ok", "error", "cancelled", "unset"]),
  attributes: z.record(
    z.string(),
    z.union([z.string(), z.number(), z.boolean(), z.array(z.string()).readonly()]),
  ),
  events: z.array(z.object({ name: z.string(), atUs: us })).readonly(),
  links: z
    .array(
      z.object({
        spanId: z.string(),
        traceId: z.string().exactOptional(),
        relation: z.enum(["after", "related"]),
      }),
    )
    .readonly(),
  phase: phase.exactOptional().describe("declared: the span's own time is this phase"),
  cold: z.string().exactOptional().describe("paid for set-up, and why"),
  detached: z.literal(true).exactOptional().describe("nobody waited for its end"),
  unfinished: z.literal(true).exactOptional().describe("closed with the turn"),
});

const slice = z.object({
  spanId: z.string(),
  startUs: us,
  endUs: us,
  phase,
  sub: sub.nullable(),
});

const finding = z.object({
  code: z.enum(FINDING_CODES),
  text: z.string(),
  spanId: z.string().nullable(),
  startUs: us.nullable(),
  endUs: us.nullable(),
});

export const turnSchema = z.object({
  $schema: z.string().exactOptional(),
  schemaVersion: z.literal(TURN_SCHEMA_VERSION),
  kind: z.literal("turn"),
  id: z.string().describe("of the trace"),
  name: z.string().describe("of the agent"),
  startedAt: z.iso.datetime().nullable().describe("null if only differences of time are known"),
  startedUnixUs: us.nullable(),
  wallUs: spanUs,
  status: z.enum(["ok", "error", "cancelled", "unset"]),
  decision: z
    .enum(["tools", "answer"])
    .describe("what the agent decided in this turn: turns are compared with their like"),
  phases: phaseTimes,
  subs: z
    .array(z.object({ phase, sub, us: spanUs }))
    .describe("second level; what has none is the rest of its phase"),
  steps: z
    .array(z.object({ spanId: z.string(), startUs: us, endUs: us, phases: phaseTimes }))
    .describe("each pass of the agent loop; its phases sum to its own duration inside the turn"),
  path: z.array(slice).describe("the critical path, in order of time, without gap or overlap"),
  work: z
    .object({
      busyUs: spanUs.describe("durations of all spans without children, summed"),
      coveredUs: spanUs.describe("time in which at least one of them ran"),
      parallelism: z.number().nullable(),
    })
    .describe("shown apart: spans side by side are busy for longer than the turn lasts"),
  flags: z.object({
    cold: z.array(z.string()).describe("causes of set-up that was paid for; empty: a warm turn"),
    notInstrumented: z.boolean().describe("has stretches of which nothing is known"),
    truncated: z.boolean().describe("a limit kept something out"),
    incomplete: z.boolean().describe("root or parents are missing; not for end-to-end percentiles"),
  }),
  findings: z.array(finding),
  dropped: z.object({
    spans: count,
    attributes: count,
    events: count,
    links: count,
    cut: count,
  }),
  environment: z
    .record(z.string(), z.string())
    .describe("what the numbers were taken in, by the names of OpenTelemetry resources"),
  spans: z.array(span).min(1).max(TURN_SPANS_MAX).describe("the root first"),
});

export type TurnRecord = z.infer<typeof turnSchema>;

/** The published JSON Schema (draft 2020-12). */
export function turnJsonSchema(): Record<string, unknown> {
  return {
    $id: "https://manx.invalid/turn.schema.json",
    title: "Manx turn document",
    ...(z.toJSONSchema(turnSchema) as Record<string, unknown>),
  };
}
