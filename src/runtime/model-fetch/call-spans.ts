/**
 * A call and its attempts as spans: the call with the GenAI attributes, since a reader that finds them on both counts each call
 * twice; below it one span an attempt, with what it has cost and where its output began and ended, and the pauses between.
 */
import { US_PER_S } from "../../core/index.ts";
import {
  type Completion,
  STALL_MIN_US,
  type StreamObserver,
  stallThresholdUs,
} from "../../stream/index.ts";
import { NO_SPAN, type OpenSpan, type SpanStatus, StreamWatch } from "../../trace/index.ts";
import type { ModelCallRecord, SeenAttempt } from "./call-record.ts";
import type { ModelRequest } from "./model-request.ts";

interface OpenAttempt {
  readonly span: OpenSpan;
  readonly watch: StreamWatch;
}

/** How an attempt ends that has failed nobody. */
const CANCELLED: ReadonlySet<string | undefined> = new Set(["lost", "abandoned"]);

export class CallSpans {
  readonly #call: OpenSpan;
  /** The call's span is somebody else's, who ends it. */
  readonly #isGiven: boolean;
  readonly #open = new Map<number, OpenAttempt>();
  #pause: OpenSpan | undefined;

  private constructor(call: OpenSpan, isGiven: boolean) {
    this.#call = call;
    this.#isGiven = isGiven;
  }

  /** @returns undefined where nothing is recorded. */
  static begin(
    under: { readonly parent: OpenSpan | undefined; readonly call: OpenSpan | undefined },
    request: ModelRequest,
    startUs: number,
  ): CallSpans | undefined {
    const { parent = NO_SPAN, call } = under;
    if (call !== undefined) return call === NO_SPAN ? undefined : new CallSpans(call, true);
    if (parent === NO_SPAN) return undefined;
    const { wire, model, isStream } = request;
    const span = parent.begin("model-call", model === "" ? wire.operation : model, { startUs });
    if (span === NO_SPAN) return undefined;
    span.set("gen_ai.operation.name", wire.operation);
    span.set("gen_ai.provider.name", wire.provider);
    if (model !== "") span.set("gen_ai.request.model", model);
    span.set("gen_ai.request.stream", isStream);
    return new CallSpans(span, false);
  }

  beginAttempt(attempt: number, cause: string, target: string, nowUs: number): void {
    this.#endPause(nowUs);
    const span = this.#call.begin("attempt", target, { startUs: nowUs });
    span.set("manx.attempt.cause", cause);
    const rule = { stallAboveUs: stallThresholdUs, floorUs: STALL_MIN_US, isPulled: true };
    this.#open.set(attempt, { span, watch: new StreamWatch(span, rule) });
  }

  /** For a gateway, which records what it does below it. */
  traceparent(attempt: number): string | undefined {
    return this.#open.get(attempt)?.span.traceparent();
  }

  /** What one read has brought. */
  read(attempt: number, stream: StreamObserver, nowUs: number): void {
    const { hasOutput: isOutput, hasVisible: isVisible } = stream;
    if (isOutput) this.#open.get(attempt)?.watch.chunk({ isOutput, isVisible }, nowUs);
  }

  /** The caller wants more: what it waits for from here on is the upstream's time. */
  asked(attempt: number, nowUs: number): void {
    this.#open.get(attempt)?.watch.asked(nowUs);
  }

  endAttempt(seen: SeenAttempt): void {
    const open = this.#open.get(seen.attempt);
    if (open === undefined) return;
    this.#open.delete(seen.attempt);
    const { span, watch } = open;
    const { end = "abandoned", status, cost, endedUs } = seen;
    // Given up before it ended: nobody waited for its tail.
    watch.close(endedUs ?? 0);
    span.set("manx.attempt.end", end);
    if (status > 0) span.set("http.response.status_code", status);
    span.set("manx.attempt.input_tokens", cost.inputTokens);
    if (cost.outputTokens !== null) span.set("manx.attempt.output_tokens", cost.outputTokens);
    span.set("manx.attempt.usage_estimated", cost.isEstimate);
    const isGood = end === "delivered";
    if (!isGood && !CANCELLED.has(end)) span.set("error.type", end);
    span.end(isGood ? "ok" : CANCELLED.has(end) ? "cancelled" : "error", endedUs);
  }

  /** No attempt runs, and there will be another one. */
  pause(nowUs: number): void {
    this.#pause ??= this.#call.begin("back-off", "back-off", { startUs: nowUs });
  }

  end(record: ModelCallRecord, completion: Completion | undefined): void {
    this.#endPause(record.endedUs);
    const call = this.#call;
    call.set("manx.attempts", record.attempts.length);
    if (this.#isGiven) return;
    const { usage, ttftUs, outcome, error, endedUs } = record;
    if (completion !== undefined) setAnswer(call, completion);
    setCount(call, "input_tokens", usage?.inputTokens);
    setCount(call, "output_tokens", usage?.outputTokens);
    setCount(call, "cache_read.input_tokens", usage?.cachedTokens);
    setCount(call, "cache_write.input_tokens", usage?.writtenTokens);
    if (ttftUs !== undefined) call.set("gen_ai.response.time_to_first_chunk", ttftUs / US_PER_S);
    const isError = outcome === "refused" || outcome === "failed";
    if (isError) call.set("error.type", error ?? String(record.status));
    const status: SpanStatus = isError ? "error" : outcome === "ok" ? "ok" : "cancelled";
    call.end(status, endedUs);
  }

  #endPause(nowUs: number): void {
    this.#pause?.end("ok", nowUs);
    this.#pause = undefined;
  }
}

function setAnswer(call: OpenSpan, { model, id, rawReason, reason }: Completion): void {
  if (model !== null) call.set("gen_ai.response.model", model);
  if (id !== null) call.set("gen_ai.response.id", id);
  const why = rawReason ?? reason;
  if (why !== null) call.set("gen_ai.response.finish_reasons", [why]);
}

function setCount(call: OpenSpan, name: string, tokens: number | undefined): void {
  if (tokens !== undefined) call.set(`gen_ai.usage.${name}`, tokens);
}
