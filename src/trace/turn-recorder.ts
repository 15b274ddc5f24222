/**
 * Records the spans of one turn while it runs. Recording is a few field writes for each span; ids, tree and phases are
 * made afterwards. Every way out is covered: a span that nobody ends is ended with the turn and marked, one over the limit
 * is counted and its time kept, a callback that throws ends its span as failed.
 */
import { type Clock, type SecretBytes, secretBytes } from "../clock/index.ts";
import { type BeginOptions, NO_SPAN, type OpenSpan, type RecordedKind } from "./open-span.ts";
import { RecordedSpan } from "./recorded-span.ts";
import type { AttributeValue, Span, SpanStatus } from "./span.ts";
import { SpanLedger } from "./span-ledger.ts";
import { type DroppedCounts, TURN_LIMITS, type TurnLimits } from "./turn-limits.ts";

export interface TurnRecorderOptions {
  readonly clock: Clock;
  /** Of the agent, such as `support-agent`. */
  readonly name: string;
  readonly limits?: Partial<TurnLimits>;
  /** Where ids come from. Default: the host's cryptographic source. */
  readonly bytes?: SecretBytes;
  /** Default: now. The caller may have wanted the turn earlier. */
  readonly startUs?: number;
}

/** A turn as it was recorded, before anything is made of it. Times from the turn's start; the root is the first span. */
export interface RecordedTurn {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  readonly spans: readonly Span[];
  /** Unix time of the turn's start, µs; exact to the millisecond. */
  readonly startedUnixUs: number;
  readonly dropped: DroppedCounts;
}

/** The recorder's face for code that may run with tracing off. */
export interface TurnTrace extends OpenSpan {
  /**
   * Ends the turn and everything in it that has not ended; again, it answers the same.
   * @returns null if tracing is off.
   */
  finish(status?: SpanStatus, atUs?: number): RecordedTurn | null;
}

/** Tracing off. */
export const NO_TURN: TurnTrace = { ...NO_SPAN, finish: () => null };

export class TurnRecorder implements TurnTrace {
  readonly #ledger: SpanLedger;
  readonly #root: RecordedSpan;
  readonly #wallMs: number;
  #finished: RecordedTurn | undefined;

  constructor(options: TurnRecorderOptions) {
    const { clock } = options;
    const nowUs = clock.nowUs();
    const startUs = Math.min(options.startUs ?? nowUs, nowUs);
    const limits = { ...TURN_LIMITS, ...options.limits };
    this.#ledger = new SpanLedger(clock, limits, options.bytes ?? secretBytes);
    this.#wallMs = clock.wallMs() - (nowUs - startUs) / 1_000;
    this.#root = new RecordedSpan(this.#ledger, -1, "turn", options.name, startUs);
  }

  begin(kind: RecordedKind, name: string, options?: BeginOptions): OpenSpan {
    return this.#root.begin(kind, name, options);
  }

  span<Result>(
    kind: RecordedKind,
    name: string,
    run: (span: OpenSpan) => Result,
    options?: BeginOptions,
  ): Result {
    return this.#root.span(kind, name, run, options);
  }

  set(key: string, value: AttributeValue): void {
    this.#root.set(key, value);
  }

  event(name: string, atUs?: number): void {
    this.#root.event(name, atUs);
  }

  traceparent(): string | undefined {
    return this.#root.traceparent();
  }

  detach(): void {
    this.#root.detach();
  }

  end(status?: SpanStatus, atUs?: number): void {
    this.#root.end(status, atUs);
  }

  fail(thrown: unknown, atUs?: number): void {
    this.#root.fail(thrown, atUs);
  }

  finish(status: SpanStatus = "ok", atUs?: number): RecordedTurn {
    if (this.#finished !== undefined) return this.#finished;
    const root = this.#root;
    const ledger = this.#ledger;
    root.end(status, atUs);
    ledger.isClosed = true;
    const { traceId, spanId } = ledger.ids;
    this.#finished = {
      traceId,
      spans: [...ledger.spans, ...ledger.standIns].map((span) =>
        span.toSpan(spanId, root.startUs, root.endUs),
      ),
      startedUnixUs: Math.round(this.#wallMs * 1_000),
      dropped: { ...ledger.dropped },
    };
    return this.#finished;
  }
}
