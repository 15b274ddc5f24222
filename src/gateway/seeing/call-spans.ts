/**
 * A call as spans: the request with the GenAI attributes, and below it what its time went into.
 *
 *     chat smart (server) ── queue
 *                         ├─ POST (client; one an attempt) ── connect ── wait for head ── prefill ── decode
 *                         └─ …
 *
 * GenAI attributes are on the request alone, which covers all its attempts, since a reader that finds them on both counts
 * each call twice. Every span says in `manx.phase` which of the seven phases its own time is, and the request's own
 * remainder is orchestration; so the phases of one request add up to its time.
 */
import { US_PER_S } from "../../core/index.ts";
import { type OtlpSpan, SPAN_KIND, SPAN_STATUS } from "../../trace/otlp/otlp-span.ts";
import { nsText } from "../../trace/otlp/otlp-time.ts";
import { keyValues, type WrittenValue } from "../../trace/otlp/otlp-value.ts";
import type { Outcome } from "../upstream-fault.ts";
import { attemptSpanId } from "./call-identity.ts";
import { type AttemptSeen, type CallRecord, isPassedOn } from "./call-record.ts";
import { childSpanId } from "./trace-context.ts";

/** Names of the GenAI convention: of its own repository (2026), or of before semantic conventions 1.37. */
export type SpanNames = "current" | "old";

type Phase = "prefill" | "decode" | "orchestration" | "unattributed";

const OPERATIONS: Readonly<Record<string, string>> = {
  "chat/completions": "chat",
  messages: "chat",
  responses: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
};
const QUEUE_CHILD = 255;
/** How an attempt ends that has failed nobody. */
const GOOD_ENDS: ReadonlySet<string | undefined> = new Set(["delivered", "lost", "abandoned"]);

/** @returns none for a call without a span of its own. */
export function callSpans(record: CallRecord, names: SpanNames): OtlpSpan[] {
  const spanId = record.trace?.spanId;
  if (spanId === undefined) return [];
  const spans = new CallSpans(record, spanId);
  spans.addRequest(names);
  spans.addQueue();
  for (const attempt of record.attempts) spans.addAttempt(attempt);
  return spans.made;
}

interface SpanParts {
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly values: Readonly<Record<string, WrittenValue | undefined>>;
  /** Why it has failed. */
  readonly error?: string | undefined;
}

class CallSpans {
  readonly made: OtlpSpan[] = [];
  readonly #record: CallRecord;
  readonly #spanId: string;

  constructor(record: CallRecord, spanId: string) {
    this.#record = record;
    this.#spanId = spanId;
  }

  addRequest(names: SpanNames): void {
    const record = this.#record;
    const operation = OPERATIONS[record.route];
    this.#add({
      spanId: this.#spanId,
      parentId: record.trace?.parentId,
      name: `${operation ?? record.route} ${record.modelAsked || record.model}`,
      kind: SPAN_KIND.server,
      fromUs: record.receivedUs,
      toUs: record.endedUs,
      values: {
        ...(operation !== undefined && genAiValues(record, operation, names)),
        ...requestValues(record),
      },
      error: isFailed(record) ? (record.error ?? record.outcome) : undefined,
    });
  }

  addQueue(): void {
    const { readyUs, admittedUs, lane } = this.#record;
    if (lane === undefined || readyUs === undefined || admittedUs === undefined) return;
    this.#add({
      spanId: childSpanId(this.#spanId, QUEUE_CHILD),
      parentId: this.#spanId,
      name: "queue",
      kind: SPAN_KIND.internal,
      fromUs: readyUs,
      toUs: admittedUs,
      values: { ...phase("orchestration", "queue"), "manx.lane": lane },
    });
  }

  addAttempt(attempt: AttemptSeen): void {
    const spanId = attemptSpanId(this.#spanId, attempt.attempt);
    const endedUs = attempt.endedUs ?? this.#record.endedUs;
    const isDelivered = isPassedOn(this.#record.attempts, attempt.attempt);
    const isFirst = isDelivered && attempt.cause !== "continue";
    this.#add({
      spanId,
      parentId: this.#spanId,
      name: "POST",
      kind: SPAN_KIND.client,
      fromUs: attempt.beganUs,
      toUs: endedUs,
      values: { ...attemptValues(attempt), ...phase("orchestration", attempt.cause) },
      error: GOOD_ENDS.has(attempt.end) ? undefined : attempt.end,
    });
    // What a failed or slower attempt took was no progress: it is orchestration, whatever it did meanwhile. So is what it
    // takes to get another one to go on.
    const own = (one: Phase): Phase => (isFirst ? one : "orchestration");
    const decode = isDelivered ? "decode" : "orchestration";
    const { beganUs, sentUs, headUs, contentUs, connection } = attempt;
    const { isStream } = this.#record;
    const steps: [string, number | undefined, number | undefined, Phase][] = [
      ["connect", connection?.reuse === "reused" ? undefined : beganUs, sentUs, own("prefill")],
      ["wait for head", sentUs, headUs ?? endedUs, own(isStream ? "prefill" : "unattributed")],
    ];
    if (isStream) {
      steps.push(["prefill", headUs, contentUs ?? endedUs, own("prefill")]);
      steps.push(["decode", contentUs, endedUs, decode]);
    } else {
      // Where it does not stream, nobody can tell prefill from decode.
      steps.push(["body", headUs, endedUs, own("unattributed")]);
    }
    for (const [at, [name, fromUs, toUs, of]] of steps.entries()) {
      if (fromUs === undefined || toUs === undefined) continue;
      this.#add({
        spanId: stepSpanId(spanId, at),
        parentId: spanId,
        name,
        kind: SPAN_KIND.internal,
        fromUs,
        toUs,
        values: phase(of, isFirst ? undefined : attempt.cause),
      });
    }
  }

  #add(parts: SpanParts): void {
    const { spanId, parentId, name, kind, values, error } = parts;
    this.made.push({
      traceId: this.#record.trace!.traceId,
      spanId,
      ...(parentId !== undefined && { parentSpanId: parentId }),
      name,
      kind,
      startTimeUnixNano: this.#unixNano(parts.fromUs),
      endTimeUnixNano: this.#unixNano(Math.max(parts.fromUs, parts.toUs)),
      attributes: keyValues(values),
      status:
        error === undefined
          ? { code: SPAN_STATUS.unset }
          : { code: SPAN_STATUS.error, message: error },
    });
  }

  /** Exact as text; as a number it would be rounded to 256 ns. */
  #unixNano(us: number): string {
    const { wallMs, receivedUs } = this.#record;
    return nsText(wallMs * 1_000 + (us - receivedUs));
  }
}

/** Steps differ from their attempt in the first byte, attempts from each other in the last. */
function stepSpanId(spanId: string, step: number): string {
  const first = (Number.parseInt(spanId.slice(0, 2), 16) + 1 + step) & 0xff;
  return first.toString(16).padStart(2, "0") + spanId.slice(2);
}

function phase(one: Phase, detail?: string): Record<string, WrittenValue | undefined> {
  return { "manx.phase": one, "manx.phase.detail": detail };
}

function genAiValues(
  record: CallRecord,
  operation: string,
  names: SpanNames,
): Record<string, WrittenValue | undefined> {
  const { usage, stream, attempts } = record;
  const provider = attempts.find(({ upstream }) => upstream === record.upstream)?.provider;
  const isCurrent = names === "current";
  const ttftUs = stream?.ttftUs ?? undefined;
  return {
    "gen_ai.operation.name": operation,
    [isCurrent ? "gen_ai.provider.name" : "gen_ai.system"]: provider,
    "gen_ai.request.model": record.modelAsked || record.model,
    [isCurrent ? "gen_ai.usage.input_tokens" : "gen_ai.usage.prompt_tokens"]: usage?.inputTokens,
    [isCurrent ? "gen_ai.usage.output_tokens" : "gen_ai.usage.completion_tokens"]:
      usage?.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens,
    ...(isCurrent && {
      "gen_ai.request.stream": record.isStream,
      "gen_ai.response.time_to_first_chunk":
        ttftUs === undefined ? undefined : { double: ttftUs / US_PER_S },
    }),
  };
}

function requestValues(record: CallRecord): Record<string, WrittenValue | undefined> {
  const { stream, status } = record;
  return {
    "http.request.method": record.route === "models" ? "GET" : "POST",
    "http.route": `/v1/${record.route}`,
    "http.response.status_code": status === 0 ? undefined : status,
    "error.type": isFailed(record) ? record.outcome : undefined,
    ...phase("orchestration"),
    "manx.request_id": record.requestId,
    "manx.model": record.model,
    "manx.upstream": record.upstream,
    "manx.tenant": record.tenant,
    "manx.outcome": record.outcome,
    "manx.error": record.error,
    "manx.attempts": record.attempts.length,
    "manx.usage_complete": record.usage !== undefined,
    "manx.stalls": stream?.stalls.count,
    "manx.stalled_ms": stream === undefined ? undefined : stream.stalls.stalledUs / 1_000,
    "manx.client_held_ms": record.heldUs / 1_000,
  };
}

function attemptValues(attempt: AttemptSeen): Record<string, WrittenValue | undefined> {
  const { origin, connection, status } = attempt;
  const url = origin === undefined ? undefined : new URL(origin);
  const port = url?.port || (url?.protocol === "https:" ? "443" : "80");
  return {
    "http.request.method": "POST",
    "http.request.resend_count": attempt.attempt === 0 ? undefined : attempt.attempt,
    "http.response.status_code": status === 0 ? undefined : status,
    "server.address": url?.hostname,
    "server.port": url === undefined ? undefined : Number(port),
    "error.type": GOOD_ENDS.has(attempt.end) ? undefined : attempt.end,
    "manx.upstream": attempt.upstream,
    "manx.target": attempt.targetName,
    "manx.attempt.cause": attempt.cause,
    "manx.attempt.end": attempt.end,
    "manx.connection": connection?.reuse,
    "network.protocol.version": connection && (connection.protocol === "h2" ? "2" : "1.1"),
    "manx.upstream_request_id": attempt.upstreamRequestId,
  };
}

/** A caller that left has not failed, and neither has a call that was refused for good reason. */
const NO_FAILURES: ReadonlySet<Outcome> = new Set([
  "ok",
  "client_cancelled",
  "refused",
  "guard_refused",
]);

export function isFailed({ outcome }: CallRecord): boolean {
  return !NO_FAILURES.has(outcome);
}
