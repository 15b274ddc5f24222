/** One request as one line of JSON: times in milliseconds from its arrival. Never a key, a prompt or an answer. */
import { isoTime } from "../../clock/index.ts";
import { US_PER_MS } from "../../core/index.ts";
import type { ConnectionMarks } from "../transport/connection-marks.ts";
import { type AttemptSeen, type CallRecord, queuedUs } from "./call-record.ts";

/**
 * @param showsClient the address that it came from as well.
 * @returns without the line's end. What did not happen has no key.
 */
export function accessLine(record: CallRecord, showsClient: boolean): string {
  const { receivedUs, trace, usage, stream, guard, cacheBreak } = record;
  const since = (us: number | undefined): number | undefined =>
    us === undefined ? undefined : toMs(us - receivedUs);
  return JSON.stringify({
    time: isoTime(record.wallMs),
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
    received_whole_ms: since(record.readyUs),
    queue_ms: record.admittedUs === undefined ? undefined : toMs(queuedUs(record)),
    sent_ms: since(record.sentUs),
    ttfb_ms: since(record.headUs),
    ttft_ms: optionalMs(stream?.ttftUs),
    ttfvt_ms: optionalMs(stream?.ttfvtUs),
    tpot_ms: optionalMs(stream?.tpotUs),
    e2e_ms: since(record.endedUs),
    stalls: stream?.stalls.count,
    stalled_ms: optionalMs(stream?.stalls.stalledUs),
    worst_gap_ms: optionalMs(stream?.stalls.worstGapUs),
    held_ms: toMs(record.heldUs),
    input_tokens: usage?.inputTokens,
    cached_tokens: usage?.cachedTokens,
    output_tokens: usage?.outputTokens,
    usage_complete: usage !== undefined,
    guard_path: guard?.path,
    guard_refused_by: guard?.refusedBy,
    guard_first_held_ms: optionalMs(guard?.firstHeldUs),
    guard_last_held_ms: optionalMs(guard?.lastHeldUs),
    cache_break: cacheBreak?.cause,
    cache_break_at: cacheBreak?.path,
    cache_break_byte: cacheBreak?.byte ?? undefined,
    cache_missed_tokens: cacheBreak?.missedTokens,
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes,
    attempts: record.attempts.map((attempt) => attemptFields(attempt, since)),
  });
}

function attemptFields(
  attempt: AttemptSeen,
  since: (us: number | undefined) => number | undefined,
): object {
  const { connection } = attempt;
  return {
    upstream: attempt.upstream,
    target: attempt.targetName,
    cause: attempt.cause,
    end: attempt.end,
    status: attempt.status,
    began_ms: since(attempt.beganUs),
    sent_ms: since(attempt.sentUs),
    head_ms: since(attempt.headUs),
    content_ms: since(attempt.contentUs),
    ended_ms: since(attempt.endedUs),
    connection: connection?.reuse,
    protocol: connection?.protocol,
    ...(connection !== undefined && connection.reuse !== "reused" && stages(connection)),
    upstream_request_id: attempt.upstreamRequestId,
  };
}

function stages({ dnsUs, tcpUs, tlsUs }: ConnectionMarks): object {
  return { dns_ms: toMs(dnsUs), tcp_ms: toMs(tcpUs), tls_ms: toMs(tlsUs) };
}

function toMs(us: number): number {
  return us / US_PER_MS;
}

function optionalMs(us: number | null | undefined): number | undefined {
  return us === null || us === undefined ? undefined : toMs(us);
}
