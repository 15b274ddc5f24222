/** One span from OTLP as one of ours: kind, first output, status, names of attributes. */
import { FINDINGS_MAX, type Finding } from "../finding.ts";
import { PHASES, type Phase } from "../phase.ts";
import {
  type AttributeValue,
  EVENT,
  type Span,
  type SpanEvent,
  type SpanKind,
  type SpanLink,
  type SpanStatus,
} from "../span.ts";
import { FIRST_OUTPUT_EVENTS } from "./first-output.ts";
import { figure } from "./otlp-value.ts";
import { readFirstOutput } from "./read-first-output.ts";
import type { OtlpReadSpan } from "./read-otlp.ts";
import { latestName } from "./semconv.ts";

/** ns to µs, down: order is kept, so what was nested stays nested. */
export function wholeUs(ns: bigint): number {
  const us = ns / 1_000n;
  return Number(ns < 0n && us * 1_000n !== ns ? us - 1n : us);
}

/**
 * @param originNs from which the turn's times count.
 * @param findings what was not believed is added.
 */
export function spanOf(
  read: OtlpReadSpan,
  kind: SpanKind,
  parentId: string | null,
  originNs: bigint,
  findings: Finding[],
): Span {
  const { attributes } = read;
  const isOurs = attributes["manx.kind"] !== undefined;
  const startUs = wholeUs(read.startNs - originNs);
  const endUs = wholeUs(read.endNs - originNs);
  const phase = attributes["manx.phase.declared"];
  const cold = attributes["manx.cold"];
  const isDetached =
    attributes["manx.detached"] === true || (read.kind === CONSUMER && parentId !== null);
  const base = { id: read.spanId, parentId, kind, startUs, endUs };
  const name = attributes["manx.name"];
  return {
    ...base,
    name: typeof name === "string" ? name : read.name,
    status: statusOf(read, kind === "attempt"),
    attributes: latestAttributes(attributes, kind, isOurs),
    events: isOurs ? ownEvents(read, originNs) : foreignEvents(read, base, originNs, findings),
    links: linksOf(read),
    ...(isPhase(phase) && { phase }),
    ...(typeof cold === "string" && { cold }),
    ...(isDetached && { detached: true as const }),
    ...(attributes["manx.unfinished"] === true && { unfinished: true as const }),
  };
}

const CONSUMER = 5;

function isPhase(value: unknown): value is Phase {
  return typeof value === "string" && (PHASES as readonly string[]).includes(value);
}

const HTTP_STATUS = ["http.response.status_code", "http.status_code"];

function statusOf({ status, attributes }: OtlpReadSpan, isAttempt: boolean): SpanStatus {
  if (attributes["manx.status"] === "cancelled") return "cancelled";
  const code = HTTP_STATUS.map((key) => figure(attributes[key])).find((one) => one !== undefined);
  if (status === 2 || (isAttempt && (code ?? 0) >= 400)) return "error";
  return status === 1 ? "ok" : "unset";
}

/** Written for others, and made anew when the turn is written again. */
const DERIVED: ReadonlySet<string> = new Set([
  "openinference.span.kind",
  "gen_ai.response.time_to_first_chunk",
  "langfuse.observation.completion_start_time",
  "ai.response.msToFirstChunk",
]);

function latestAttributes(
  attributes: Readonly<Record<string, AttributeValue>>,
  kind: SpanKind,
  isOurs: boolean,
): Record<string, AttributeValue> {
  const latest: Record<string, AttributeValue> = {};
  for (const [key, value] of Object.entries(attributes)) {
    if (isOurs && (key.startsWith("manx.") || DERIVED.has(key))) continue;
    const name = latestName(key, kind === "retrieval");
    // The latest name wins over an older one beside it.
    if (name !== key && attributes[name] !== undefined) continue;
    const isCount = name.startsWith("gen_ai.usage.");
    latest[name] = (isCount ? figure(value) : undefined) ?? value;
  }
  return latest;
}

function ownEvents({ events }: OtlpReadSpan, originNs: bigint): SpanEvent[] {
  return events
    .filter(({ name }) => !FIRST_OUTPUT_EVENTS.includes(name))
    .map(({ name, atNs }) => ({ name, atUs: wholeUs(atNs - originNs) }));
}

/** Kept of a foreign span: an instrumentation may write one for each chunk. */
const EVENTS_KEPT_MAX = 64;

type SpanBase = Pick<Span, "id" | "kind" | "startUs" | "endUs">;

function foreignEvents(
  read: OtlpReadSpan,
  span: SpanBase,
  originNs: bigint,
  findings: Finding[],
): SpanEvent[] {
  const events = read.events.map(({ name, atNs }) => ({ name, atUs: wholeUs(atNs - originNs) }));
  const kept = events.slice(0, EVENTS_KEPT_MAX);
  // The one that shows that a span was closed too early must not be among those left out.
  const last = events.at(-1);
  if (last !== undefined && last.atUs > span.endUs && !kept.includes(last)) kept.push(last);
  if (span.kind !== "model-call" && span.kind !== "attempt") return kept;
  const { afterNs, isUnitGuessed, doubts } = readFirstOutput(read);
  const add = (code: Finding["code"], text: string): void => {
    if (findings.length >= FINDINGS_MAX) return;
    findings.push({ code, text, spanId: span.id, startUs: span.startUs, endUs: span.endUs });
  };
  for (const doubt of doubts) add("implausible", doubt);
  if (isUnitGuessed) add("unit-guessed", "the first output's time is in ms by its size");
  if (afterNs === undefined) return kept;
  const firstUs = wholeUs(read.startNs + afterNs - originNs);
  return [...kept, { name: EVENT.outputStart, atUs: firstUs }];
}

function linksOf({ links, traceId: own }: OtlpReadSpan): SpanLink[] {
  return links.map(({ traceId, spanId, relation }) => ({
    spanId,
    ...(traceId !== "" && traceId !== own && { traceId }),
    relation: relation === "after" ? ("after" as const) : ("related" as const),
  }));
}
