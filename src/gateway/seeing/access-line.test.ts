import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accessLine } from "./access-line.ts";
import { type AttemptSeen, type CallRecord, queuedUs } from "./call-record.ts";

/** The same line as an object for `JSON.stringify`: what `accessLine` has to put together, byte for byte. */
function plainLine(record: CallRecord, showsClient: boolean): string {
  const { receivedUs, trace, usage, stream, guard, cacheBreak } = record;
  const since = (us: number | undefined): number | undefined =>
    us === undefined ? undefined : us - receivedUs;
  return JSON.stringify({
    time: new Date(record.wallMs).toISOString(),
    request_id: record.requestId,
    trace_id: trace?.traceId,
    span_id: trace?.spanId,
    route: record.route,
    model: record.model,
    model_asked: record.modelAsked === record.model ? undefined : record.modelAsked,
    upstream: record.upstream,
    tenant: record.tenant,
    client: showsClient ? record.client : undefined,
    lane: record.lane,
    stream: record.isStream,
    warm_up: record.isWarmUp,
    status: record.status,
    outcome: record.outcome,
    error: record.error,
    refusal: record.refusal,
    received_whole_ms: toMs(since(record.readyUs)),
    queue_ms: record.admittedUs === undefined ? undefined : toMs(queuedUs(record)),
    sent_ms: toMs(since(record.sentUs)),
    ttfb_ms: toMs(since(record.headUs)),
    ttft_ms: toMs(stream?.ttftUs),
    ttfvt_ms: toMs(stream?.ttfvtUs),
    tpot_ms: toMs(stream?.tpotUs),
    e2e_ms: toMs(since(record.endedUs)),
    stalls: stream?.stalls.count,
    stalled_ms: toMs(stream?.stalls.stalledUs),
    worst_gap_ms: toMs(stream?.stalls.worstGapUs),
    held_ms: toMs(record.heldUs),
    input_tokens: usage?.inputTokens,
    cached_tokens: usage?.cachedTokens,
    output_tokens: usage?.outputTokens,
    usage_complete: usage !== undefined,
    guard_path: guard?.path,
    guard_refused_by: guard?.refusedBy,
    guard_first_held_ms: toMs(guard?.firstHeldUs),
    guard_last_held_ms: toMs(guard?.lastHeldUs),
    cache_break: cacheBreak?.cause,
    cache_break_at: cacheBreak?.path,
    cache_break_byte: cacheBreak?.byte ?? undefined,
    cache_missed_tokens: cacheBreak?.missedTokens,
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes,
    attempts: record.attempts.map((attempt) => plainAttempt(attempt, since)),
  });
}

function plainAttempt(
  attempt: AttemptSeen,
  since: (us: number | undefined) => number | undefined,
): object {
  const { connection } = attempt;
  const isNew = connection !== undefined && connection.reuse !== "reused";
  return {
    upstream: attempt.upstream,
    target: attempt.targetName,
    cause: attempt.cause,
    end: attempt.end,
    status: attempt.status,
    began_ms: toMs(since(attempt.beganUs)),
    sent_ms: toMs(since(attempt.sentUs)),
    head_ms: toMs(since(attempt.headUs)),
    content_ms: toMs(since(attempt.contentUs)),
    ended_ms: toMs(since(attempt.endedUs)),
    connection: connection?.reuse,
    protocol: connection?.protocol,
    dns_ms: isNew ? toMs(connection.dnsUs) : undefined,
    tcp_ms: isNew ? toMs(connection.tcpUs) : undefined,
    tls_ms: isNew ? toMs(connection.tlsUs) : undefined,
    upstream_request_id: attempt.upstreamRequestId,
  };
}

function toMs(us: number | null | undefined): number | undefined {
  return us === null || us === undefined ? undefined : us / 1_000;
}

const orNone = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value);

/** Names that people write, and all that a string can hold: quotes, controls, half a surrogate pair. */
const words = fc.oneof(
  fc.constantFrom("gpt-4o", "chat/completions", "a b~!", 'say "so"', "back\\slash", "línea", "a\n"),
  fc.string(),
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }),
);
const us = fc.oneof(fc.nat(600_000_000), fc.nat(2_000), fc.integer(), fc.double());
const counts = fc.oneof(fc.nat(), fc.double());

const connections = fc.record({
  reuse: fc.constantFrom("new", "reused", "resumed"),
  protocol: words,
  ...{ dnsUs: us, tcpUs: us, tlsUs: us },
});

const attempts = fc.record({
  ...{ upstream: words, targetName: words, cause: words, end: orNone(words) },
  ...{ status: counts, beganUs: us, sentUs: orNone(us), headUs: orNone(us) },
  ...{ contentUs: orNone(us), endedUs: orNone(us), connection: orNone(connections) },
  upstreamRequestId: orNone(words),
});

const streams = fc.record({
  ...{ ttftUs: orNull(us), ttfvtUs: orNull(us), tpotUs: orNull(us) },
  stalls: fc.record({ count: counts, stalledUs: us, worstGapUs: orNull(us) }),
});

const records = fc.record({
  ...{ requestId: words, wallMs: fc.integer({ min: -1e12, max: 1e14 }), receivedUs: us },
  trace: orNone(fc.record({ traceId: words, spanId: orNone(words) })),
  ...{ isWarmUp: orNone(fc.constant(true)) },
  ...{ route: words, model: words, modelAsked: words, upstream: words, tenant: words },
  ...{ client: orNone(words), lane: orNone(words), isStream: fc.boolean(), status: counts },
  ...{ outcome: words, error: orNone(words), refusal: orNone(words) },
  ...{ readyUs: orNone(us), admittedUs: orNone(us), sentUs: orNone(us), headUs: orNone(us) },
  ...{ endedUs: us, heldUs: us, stream: orNone(streams) },
  usage: orNone(fc.record({ inputTokens: counts, cachedTokens: counts, outputTokens: counts })),
  guard: orNone(
    fc.record({
      ...{ path: words, refusedBy: orNone(words) },
      ...{ firstHeldUs: orNull(us), lastHeldUs: orNull(us) },
    }),
  ),
  cacheBreak: orNone(
    fc.record({ cause: words, path: words, byte: orNull(counts), missedTokens: counts }),
  ),
  ...{ requestBytes: counts, responseBytes: counts },
  attempts: fc.array(attempts, { maxLength: 3 }),
}) as unknown as fc.Arbitrary<CallRecord>;

describe("a line of the access log", () => {
  it("is what JSON.stringify makes of the same record, byte for byte", () => {
    fc.assert(
      fc.property(records, fc.boolean(), (record, showsClient) => {
        expect(accessLine(record, showsClient)).toBe(plainLine(record, showsClient));
      }),
      { numRuns: 1_000 },
    );
  });
});
