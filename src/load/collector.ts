/**
 * Takes in outcomes one by one and keeps histograms and counts, so a run of a million requests needs the memory of one of
 * a thousand. Successes and failures never share a percentile: a refusal answered in 5 ms would improve it (casebook
 * LD-08). Invariant: offered = completed + failed + not yet over.
 */
import { assert } from "../core/index.ts";
import { Histogram } from "../stats/index.ts";
import { largest, meetsBudgets, type RequestBudgets } from "./budgets.ts";
import type { MetricName } from "./distribution.ts";
import type { Job, Outcome, StreamTimes } from "./target.ts";

/** For a progress line: TTFT of streams, E2E where there are none. */
export interface LoadProgress {
  readonly elapsedUs: number;
  readonly offered: number;
  readonly sent: number;
  readonly completed: number;
  readonly failed: number;
  readonly open: number;
  readonly metric: "TTFT" | "E2E";
  /** NaN before the first success, as for the next. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly lagP99Us: number;
}

export interface StallTally {
  streams: number;
  stalled: number;
  stalledUs: number;
  worstGapUs: number | null;
}

export class Collector {
  readonly histograms: Partial<Record<MetricName, Histogram>> = {};
  readonly failures: Record<string, number> = {};
  readonly stalls: StallTally = { streams: 0, stalled: 0, stalledUs: 0, worstGapUs: null };
  readonly budgets: RequestBudgets;
  offered = 0;
  sentCount = 0;
  completed = 0;
  failed = 0;
  empty = 0;
  met = 0;
  outputTokens = 0;
  promptTokens = 0;
  cachedTokens = 0;
  /** Requests whose server told its count of output tokens. */
  countedTokens = 0;
  connections = { new: 0, reused: 0 };

  constructor(budgets: RequestBudgets) {
    this.budgets = budgets;
  }

  offer(): void {
    this.offered += 1;
  }

  sent(): void {
    this.sentCount += 1;
  }

  /** @param dispatchedUs when the pacer gave it to the target; later than intended if the client was late or full. */
  add(job: Job, dispatchedUs: number, outcome: Outcome): void {
    assert(outcome.endUs >= dispatchedUs, "a request ends after it was sent");
    this.#record("scheduleLagUs", dispatchedUs - job.intendedUs);
    if (outcome.connection !== null) this.connections[outcome.connection] += 1;
    if (outcome.connectUs !== undefined) this.#record("connectUs", outcome.connectUs);
    if (outcome.sentUs !== null) this.#record("waitUs", outcome.sentUs - job.intendedUs);
    if (outcome.failure === null) this.#addSuccess(job, outcome);
    else this.#addFailure(outcome, outcome.failure);
  }

  progress(open: number, elapsedUs: number): LoadProgress {
    const metric = this.histograms.ttftUs === undefined ? "E2E" : "TTFT";
    const seen = this.histograms.ttftUs ?? this.histograms.e2eUs ?? new Histogram();
    const lag = this.histograms.scheduleLagUs ?? new Histogram();
    const { offered, sentCount: sent, completed, failed } = this;
    return {
      elapsedUs: Math.max(0, elapsedUs),
      offered,
      sent,
      completed,
      failed,
      open,
      metric,
      p50Us: seen.atRank(Math.ceil(seen.n * 0.5)),
      p99Us: seen.atRank(Math.ceil(seen.n * 0.99)),
      lagP99Us: lag.atRank(Math.ceil(lag.n * 0.99)),
    };
  }

  #addSuccess(job: Job, outcome: Outcome): void {
    const { stream, endUs, sentUs, headersUs } = outcome;
    this.completed += 1;
    this.#record("e2eUs", endUs - job.intendedUs);
    if (sentUs !== null) this.#record("serviceE2eUs", endUs - sentUs);
    if (headersUs !== null) this.#record("ttfbUs", headersUs - job.intendedUs);
    if (stream !== null) this.#addStream(stream);
    const isEmpty = stream !== null && stream.ttftUs === null;
    // An answer without any output keeps no budget, however fast it came.
    if (isEmpty) this.empty += 1;
    else if (meetsBudgets(this.budgets, outcome, job.intendedUs)) this.met += 1;
    if (outcome.outputTokens !== null) {
      this.countedTokens += 1;
      this.outputTokens += outcome.outputTokens;
    }
    this.promptTokens += outcome.promptTokens ?? 0;
    this.cachedTokens += outcome.cachedTokens ?? 0;
  }

  #addStream(stream: StreamTimes): void {
    this.#record("ttftUs", stream.ttftUs);
    this.#record("ttfvtUs", stream.ttfvtUs);
    this.#record("serviceTtftUs", stream.serviceTtftUs);
    this.#record("tpotUs", stream.tpotUs);
    for (const gapUs of stream.chunkGapsUs) this.#record("chunkGapUs", gapUs);
    for (const gapUs of stream.itlUs) this.#record("itlUs", gapUs);
    this.#record("largestGapUs", largest(stream.chunkGapsUs));
    const { count, stalledUs, worstGapUs } = stream.stalls;
    this.stalls.streams += 1;
    if (count > 0) this.stalls.stalled += 1;
    this.stalls.stalledUs += stalledUs;
    if (worstGapUs !== null && worstGapUs > (this.stalls.worstGapUs ?? 0)) {
      this.stalls.worstGapUs = worstGapUs;
    }
  }

  #addFailure({ stream }: Outcome, failure: string): void {
    this.failed += 1;
    this.failures[failure] = (this.failures[failure] ?? 0) + 1;
    // It did come; but a stream that broke is no example of a good first token.
    if (stream !== null) this.#record("failedTtftUs", stream.ttftUs);
  }

  #record(name: MetricName, valueUs: number | null): void {
    if (valueUs === null) return;
    this.histograms[name] ??= new Histogram();
    this.histograms[name].record(Math.max(0, valueUs));
  }
}
