/** What is noted of one call while it runs, and told at its end: its record, its spans, events for whoever observes. */
import type { ManxError } from "../../core/index.ts";
import type { AttemptRecord, BeginCause } from "../../policy/index.ts";
import type { StreamObserver } from "../../stream/index.ts";
import type { Answer } from "./answer.ts";
import type { CallPlace } from "./call-place.ts";
import {
  type AttemptCost,
  attemptCost,
  type CallOutcome,
  type ModelCallRecord,
  type SeenAttempt,
} from "./call-record.ts";
import type { CallSpans } from "./call-spans.ts";
import type { FetchCounts } from "./fetch-stats.ts";
import type { ModelRequest } from "./model-request.ts";

export type ModelCallEvent =
  | {
      readonly type: "attempt-begin";
      readonly call: number;
      readonly attempt: number;
      readonly target: string;
      readonly cause: BeginCause;
      readonly atUs: number;
    }
  | { readonly type: "attempt-end"; readonly call: number; readonly attempt: SeenAttempt }
  | { readonly type: "call-end"; readonly record: ModelCallRecord };

export interface CallBookOptions {
  readonly request: ModelRequest;
  readonly receivedUs: number;
  readonly counts: FetchCounts;
  readonly spans: CallSpans | undefined;
  readonly observe: ((event: ModelCallEvent) => void) | undefined;
}

interface Facts {
  readonly place: CallPlace;
  readonly origin: string;
  readonly answer: Answer;
}

export interface CallEnd {
  readonly outcome: CallOutcome;
  readonly status: number;
  readonly endedUs: number;
  readonly error: ManxError | undefined;
  readonly winner: { readonly number: number; readonly answer: Answer } | undefined;
}

export class CallBook {
  readonly #options: CallBookOptions;
  readonly #number: number;
  readonly #facts: Facts[] = [];
  readonly #seen: SeenAttempt[] = [];

  constructor(options: CallBookOptions) {
    this.#options = options;
    this.#number = options.counts.begin();
  }

  begin({ attempt, cause, beganUs }: AttemptRecord, facts: Facts): void {
    const { counts, spans } = this.#options;
    const target = facts.place.name;
    counts.open += 1;
    this.#facts[attempt] = facts;
    spans?.beginAttempt(attempt, cause, target, beganUs);
    this.#tell({
      ...{ type: "attempt-begin", call: this.#number, attempt, target, cause },
      atUs: beganUs,
    });
  }

  /** Its `fetch` has let go. */
  closed(): void {
    this.#options.counts.open -= 1;
  }

  traceparent(attempt: number): string | undefined {
    return this.#options.spans?.traceparent(attempt);
  }

  read(attempt: number, stream: StreamObserver, nowUs: number): void {
    this.#options.spans?.read(attempt, stream, nowUs);
  }

  asked(attempt: number, nowUs: number): void {
    this.#options.spans?.asked(attempt, nowUs);
  }

  pause(nowUs: number): void {
    this.#options.spans?.pause(nowUs);
  }

  /** Those that have ended since. */
  noteEnds(records: readonly AttemptRecord[]): void {
    for (const record of records) {
      const { attempt, end } = record;
      if (end === undefined || this.#seen[attempt] !== undefined) continue;
      const { place, origin, answer } = this.#facts[attempt]!;
      const cost = attemptCost(record, answer.usage, this.#options.request.inputTokens);
      const seen = seenAttempt(record, place.name, origin, cost);
      this.#seen[attempt] = seen;
      this.#options.spans?.endAttempt(seen);
      this.#tell({ type: "attempt-end", call: this.#number, attempt: seen });
    }
  }

  end({ outcome, status, endedUs, error, winner }: CallEnd): void {
    const { request, receivedUs, counts, spans } = this.#options;
    const { wire, model, isStream, inputTokens } = request;
    const usage = winner?.answer.usage;
    const contentUs = winner && isStream ? this.#seen[winner.number]?.contentUs : undefined;
    const record: ModelCallRecord = {
      call: this.#number,
      operation: wire.operation,
      format: wire.format,
      model,
      isStream,
      inputTokens,
      attempts: this.#seen,
      outcome,
      status,
      error: error?.code,
      usage,
      beganUs: receivedUs,
      ttftUs: contentUs === undefined ? undefined : contentUs - receivedUs,
      endedUs,
    };
    counts.end(record);
    spans?.end(record, winner?.answer.stream?.completion);
    this.#tell({ type: "call-end", record });
  }

  /** Whoever observes may not change what happens, by throwing either. */
  #tell(event: ModelCallEvent): void {
    try {
      this.#options.observe?.(event);
    } catch {
      this.#options.counts.observerErrors += 1;
    }
  }
}

/** Field by field: a spread costs more than all else that is noted of an attempt. */
function seenAttempt(
  record: AttemptRecord,
  targetName: string,
  origin: string,
  cost: AttemptCost,
): SeenAttempt {
  return {
    attempt: record.attempt,
    target: record.target,
    cause: record.cause,
    beganUs: record.beganUs,
    sentUs: record.sentUs,
    headUs: record.headUs,
    contentUs: record.contentUs,
    endedUs: record.endedUs,
    end: record.end,
    status: record.status,
    targetName,
    origin,
    cost,
  };
}
