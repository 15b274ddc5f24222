/** What the code of an agent holds while it works: a place in the turn to hang spans, attributes and events on. */
import type { Phase } from "./phase.ts";
import type { AttributeValue, SpanKind, SpanStatus } from "./span.ts";

/** Kinds that are recorded; the others are made here. */
export type RecordedKind = Exclude<SpanKind, "turn" | "dropped" | "missing-parent">;

export interface BeginOptions {
  /** Default: now. For what began before it could be told, such as a call that waited for a connection. */
  readonly startUs?: number;
  /** Spans that this one had to wait for: tools that need a result, the stream that asked for a tool. */
  readonly after?: readonly OpenSpan[];
  /** Its own time is this phase, whatever its kind. */
  readonly phase?: Phase;
  /** Why this pays for set-up: `deploy`, `scale-out`, `idle-recycle`, `first-call` or a word of your own. */
  readonly cold?: string;
}

/**
 * Context is passed on by hand: a child is begun on its parent. All methods are safe after the end and after the end of
 * the turn; they then do nothing. Times are the clock's, in µs.
 */
export interface OpenSpan {
  begin(kind: RecordedKind, name: string, options?: BeginOptions): OpenSpan;
  /**
   * Runs `run` in a child and ends it with it: `ok`, or `error` and the error's code or name (never its message), or
   * `cancelled` if it was an AbortError. The result, a promise or not, is passed on as it is.
   */
  span<Result>(
    kind: RecordedKind,
    name: string,
    run: (span: OpenSpan) => Result,
    options?: BeginOptions,
  ): Result;
  /** Keys as in OpenTelemetry's latest GenAI conventions; `otlp` renames them for older ones. */
  set(key: string, value: AttributeValue): void;
  /** @param atUs default: now. */
  event(name: string, atUs?: number): void;
  /**
   * This span as the parent of what another process records: a `traceparent` of W3C Trace Context, level 1.
   * @returns undefined where nothing is recorded.
   */
  traceparent(): string | undefined;
  /** Nobody waits for this span's end: it is on no critical path. */
  detach(): void;
  /** The first end counts. Children may go on; they are kept at their true times. */
  end(status?: SpanStatus, atUs?: number): void;
  /** Ends with what was thrown. */
  fail(thrown: unknown, atUs?: number): void;
}

/** Records nothing and costs nothing, for where tracing is off. */
export const NO_SPAN: OpenSpan = {
  begin: () => NO_SPAN,
  span: (_kind, _name, run) => run(NO_SPAN),
  set: () => undefined,
  event: () => undefined,
  traceparent: () => undefined,
  detach: () => undefined,
  end: () => undefined,
  fail: () => undefined,
};
