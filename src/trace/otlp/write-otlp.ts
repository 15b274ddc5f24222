/**
 * Turn documents to one OTLP/JSON export request (`POST /v1/traces`), with GenAI names of the wanted generation and with
 * what those do not know: `manx.phase`, `manx.phase.sub`, the time on the critical path. Read back, it gives the same turn.
 */
import { US_PER_S } from "../../core/index.ts";
import { VERSION } from "../../version.ts";
import type { TurnRecord } from "../document/turn-schema.ts";
import { PHASES, type Phase, type PhaseSub } from "../phase.ts";
import type { Attributes, AttributeValue, Span, SpanEvent, SpanKind } from "../span.ts";
import { firstOutputDialects, firstOutputUs } from "./first-output.ts";
import { writtenId } from "./otlp-id.ts";
import { type OtlpSpan, SPAN_KIND, SPAN_STATUS } from "./otlp-span.ts";
import { nsText } from "./otlp-time.ts";
import { type KeyValue, keyValue, keyValues, type WrittenValue } from "./otlp-value.ts";
import { type Semconv, writtenNames } from "./semconv.ts";

export interface OtlpOptions {
  /** Generation of the GenAI names. Default `latest`. */
  readonly semconv?: Semconv;
  /**
   * Also write the time to first output, and the kind of span, the ways in which Langfuse, Phoenix, LangWatch and the AI
   * SDK's readers look for them. Default true.
   */
  readonly dialects?: boolean;
}

export interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

/** Turns whose start in Unix time is not known are written as if they had begun at its first plausible second. */
const UNKNOWN_START_US = Date.UTC(2000, 0, 2) * 1_000;

export function writeOtlp(turns: readonly TurnRecord[], options: OtlpOptions = {}): OtlpRequest {
  return {
    resourceSpans: turns.map((turn) => ({
      resource: {
        attributes: keyValues({ "service.name": turn.name, ...turn.environment }),
      },
      scopeSpans: [
        { scope: { name: "manx", version: VERSION }, spans: writtenSpans(turn, options) },
      ],
    })),
  };
}

/** What the spans of one turn are written from. */
interface Writing {
  readonly turn: TurnRecord;
  readonly traceId: string;
  readonly originUs: number;
  readonly semconv: Semconv;
  readonly dialects: boolean;
  readonly byId: ReadonlyMap<string, Span>;
  readonly attempts: ReadonlyMap<string, readonly Span[]>;
  readonly shares: ReadonlyMap<string, PathShare>;
}

function writtenSpans(turn: TurnRecord, options: OtlpOptions): OtlpSpan[] {
  const writing: Writing = {
    turn,
    traceId: writtenId(turn.id, 16),
    originUs: turn.startedUnixUs ?? UNKNOWN_START_US,
    semconv: options.semconv ?? "latest",
    dialects: options.dialects ?? true,
    byId: new Map(turn.spans.map((span) => [span.id, span])),
    attempts: attemptsByCall(turn.spans),
    shares: pathShares(turn),
  };
  return turn.spans.map((span) => writtenSpan(span, writing));
}

function writtenSpan(span: Span, writing: Writing): OtlpSpan {
  const { traceId, originUs, byId } = writing;
  const isModel =
    span.kind === "model-call" ||
    (span.kind === "attempt" && byId.get(span.parentId ?? "")?.kind === "model-call");
  const { attributes, events } = written(span, isModel, writing);
  return {
    traceId,
    spanId: writtenId(span.id, 8),
    ...(span.parentId !== null && { parentSpanId: writtenId(span.parentId, 8) }),
    name: spanName(span),
    kind: isModel ? SPAN_KIND.client : SPAN_KIND.internal,
    startTimeUnixNano: nsText(originUs + span.startUs),
    endTimeUnixNano: nsText(originUs + span.endUs),
    attributes: keyValues(attributes),
    events: events.map(({ name, atUs }) => ({
      name,
      timeUnixNano: nsText(originUs + atUs),
      attributes: [],
    })),
    links: span.links.map(({ spanId, traceId: other, relation }) => ({
      traceId: other === undefined ? traceId : writtenId(other, 16),
      spanId: writtenId(spanId, 8),
      attributes: [keyValue("manx.link", relation)],
    })),
    status: { code: statusCode(span) },
  };
}

function written(
  span: Span,
  isModel: boolean,
  { turn, originUs, semconv, dialects, attempts, shares }: Writing,
): { attributes: Record<string, WrittenValue>; events: readonly SpanEvent[] } {
  const outputUs = isModel ? firstOutputUs(span, attempts.get(span.id) ?? []) : undefined;
  const isDialect = dialects && outputUs !== undefined;
  const repeated = isDialect ? firstOutputDialects(span, outputUs, originUs) : undefined;
  return {
    attributes: {
      ...named({ ...span.attributes, ...operationOf(span) }, semconv),
      ...(outputUs !== undefined && {
        "gen_ai.response.time_to_first_chunk": { double: (outputUs - span.startUs) / US_PER_S },
      }),
      ...repeated?.attributes,
      ...(dialects && openInferenceKind(span.kind)),
      ...manxAttributes(span, shares.get(span.id), span === turn.spans[0] ? turn : undefined),
    },
    events: [...span.events, ...(repeated?.events ?? [])],
  };
}

/** One that was cancelled has neither failed nor ended well. */
function statusCode({ status }: Span): number {
  return status === "cancelled" ? SPAN_STATUS.unset : SPAN_STATUS[status];
}

function attemptsByCall(spans: readonly Span[]): Map<string, Span[]> {
  const attempts = new Map<string, Span[]>();
  for (const span of spans) {
    if (span.kind !== "attempt" || span.parentId === null) continue;
    const before = attempts.get(span.parentId);
    if (before === undefined) attempts.set(span.parentId, [span]);
    else before.push(span);
  }
  return attempts;
}

interface PathShare {
  us: number;
  readonly byPhase: Map<string, { phase: Phase; sub: PhaseSub | null; us: number }>;
}

/** What each span has of the critical path. */
function pathShares({ path }: TurnRecord): Map<string, PathShare> {
  const shares = new Map<string, PathShare>();
  for (const { spanId, startUs, endUs, phase, sub } of path) {
    let share = shares.get(spanId);
    if (share === undefined) {
      share = { us: 0, byPhase: new Map() };
      shares.set(spanId, share);
    }
    share.us += endUs - startUs;
    const key = `${phase} ${sub}`;
    const before = share.byPhase.get(key);
    if (before === undefined) share.byPhase.set(key, { phase, sub, us: endUs - startUs });
    else before.us += endUs - startUs;
  }
  return shares;
}

function manxAttributes(
  span: Span,
  share: PathShare | undefined,
  turn: TurnRecord | undefined,
): Record<string, AttributeValue> {
  const main = [...(share?.byPhase.values() ?? [])].sort((a, b) => b.us - a.us)[0];
  return {
    "manx.kind": span.kind,
    ...(spanName(span) !== span.name && { "manx.name": span.name }),
    "manx.path_us": share?.us ?? 0,
    // Where most of its time on the path went; a model call may have several phases.
    ...(main !== undefined && { "manx.phase": main.phase }),
    ...(main?.sub != null && { "manx.phase.sub": main.sub }),
    ...(span.phase !== undefined && { "manx.phase.declared": span.phase }),
    ...(span.cold !== undefined && { "manx.cold": span.cold }),
    ...(span.detached === true && { "manx.detached": true }),
    ...(span.unfinished === true && { "manx.unfinished": true }),
    ...(span.status === "cancelled" && { "manx.status": "cancelled" }),
    ...(turn !== undefined &&
      Object.fromEntries(PHASES.map((phase) => [`manx.phase.${phase}_us`, turn.phases[phase]]))),
  };
}

/** Under the names of the wanted generation; a name that is there already stays. */
function named(attributes: Attributes, semconv: Semconv): Record<string, AttributeValue> {
  const written: Record<string, AttributeValue> = {};
  for (const [key, value] of Object.entries(attributes)) {
    for (const name of writtenNames(key, semconv)) written[name] ??= value;
  }
  return written;
}

const OPERATIONS: Readonly<Partial<Record<SpanKind, string>>> = {
  turn: "invoke_agent",
  agent: "invoke_agent",
  "model-call": "chat",
  "tool-call": "execute_tool",
  retrieval: "retrieval",
};

function operationOf(span: Span): Record<string, AttributeValue> {
  const operation = span.attributes["gen_ai.operation.name"] ?? OPERATIONS[span.kind];
  if (operation === undefined) return {};
  const of: Record<string, AttributeValue> = { "gen_ai.operation.name": operation };
  if (span.kind === "tool-call")
    of["gen_ai.tool.name"] = span.attributes["gen_ai.tool.name"] ?? span.name;
  if (span.kind === "turn" || span.kind === "agent") {
    of["gen_ai.agent.name"] = span.attributes["gen_ai.agent.name"] ?? span.name;
  }
  return of;
}

/** `{operation} {what}`, as the conventions name spans. */
function spanName(span: Span): string {
  const operation = operationOf(span)["gen_ai.operation.name"];
  if (typeof operation !== "string") return span.name;
  const model = span.attributes["gen_ai.request.model"];
  const what = span.kind === "model-call" && typeof model === "string" ? model : span.name;
  return span.name.startsWith(operation) ? span.name : `${operation} ${what}`;
}

const OPEN_INFERENCE: Readonly<Partial<Record<SpanKind, string>>> = {
  turn: "AGENT",
  agent: "AGENT",
  step: "CHAIN",
  "model-call": "LLM",
  "tool-call": "TOOL",
  retrieval: "RETRIEVER",
  guardrail: "GUARDRAIL",
  assembly: "CHAIN",
};

function openInferenceKind(kind: SpanKind): Record<string, string> {
  const name = OPEN_INFERENCE[kind];
  return name === undefined ? {} : { "openinference.span.kind": name };
}
