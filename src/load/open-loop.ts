/**
 * The pacer. Every request starts at its intended instant, whether or not earlier ones have been answered, and every
 * time that a user would feel is counted from that instant. A cap on concurrency, where one is asked for, makes requests
 * wait; the wait stays in their figures and the run is marked for it (casebook LD-05).
 *
 *     requests ──(intended start)──► send ──► target ──► collector
 *                       │ cap reached             ▲
 *                       └──► queue ──(one ends)───┘
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { Fifo } from "../core/index.ts";
import { ArrivalCheck, checkWindowUs } from "./arrival-check.ts";
import { Collector, type LoadProgress } from "./collector.ts";
import { LoopLag } from "./loop-lag.ts";
import type { ResultRun } from "./result-document.ts";
import { type RunDescription, type RunLimits, toLoadRun } from "./run-result.ts";
import type { FailureClass, Job, Outcome, Target } from "./target.ts";
import type { WorkRequest } from "./work-request.ts";

export interface OpenLoopOptions extends RunDescription, RunLimits {
  readonly clock: Clock;
  /** In order of `atUs`; taken one by one as their time comes. */
  readonly requests: Iterable<WorkRequest>;
  /** Time over which they arrive: figures per second are over this. */
  readonly spanUs: number;
  readonly target: Target;
  /** Most requests open at once; more wait. Default: none short of `OPEN_MAX`. */
  readonly concurrencyMax?: number;
  /** Ends the run: what is open is given up, and the result is marked partial by its `interrupted` gauge. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Default 10 s. */
  readonly progressEveryUs?: number;
}

/** Below the number of local ports of one address, where every further request would fail anyway. */
const OPEN_MAX = 20_000;
/** Most requests waiting for a place; one more fails as `client-backlog`. */
export const BACKLOG_MAX = 100_000;
/** After a late timer, reads that are waiting come before the rest of a long row of sends. */
const SENDS_PER_TURN = 32;
/** The first request's start, so that making the run does not delay it. */
const LEAD_US = 20_000;

/** Sends the workload and waits for every answer. The target's own time limit bounds that wait. */
export function runOpenLoop(options: OpenLoopOptions): Promise<ResultRun> {
  return new Promise((resolve, reject) => {
    new OpenLoop(options, resolve, reject).start();
  });
}

class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #clock: Clock;
  readonly #resolve: (run: ResultRun) => void;
  readonly #reject: (thrown: unknown) => void;
  readonly #requests: Iterator<WorkRequest>;
  readonly #collector: Collector;
  readonly #arrivals: ArrivalCheck;
  readonly #lag: LoopLag;
  readonly #queue = new Fifo<Job>(BACKLOG_MAX);
  readonly #openMax: number;
  readonly #startUs: number;
  #next: Job | undefined;
  #cancelNext: Cancel | undefined;
  #cancelProgress: Cancel | undefined;
  #open = 0;
  #over = false;

  constructor(
    options: OpenLoopOptions,
    resolve: (run: ResultRun) => void,
    reject: (thrown: unknown) => void,
  ) {
    this.#options = options;
    this.#clock = options.clock;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#requests = options.requests[Symbol.iterator]();
    this.#collector = new Collector(options.budgets ?? {});
    this.#arrivals = new ArrivalCheck(checkWindowUs(options.spanUs));
    this.#lag = new LoopLag(options.clock);
    this.#openMax = Math.min(options.concurrencyMax ?? OPEN_MAX, OPEN_MAX);
    this.#startUs = options.clock.nowUs() + LEAD_US;
  }

  start(): void {
    const { signal } = this.#options;
    if (signal?.aborted === true) {
      this.#finish();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#lag.start();
    this.#armProgress(this.#clock.nowUs());
    this.#guard(() => {
      this.#advance(0);
      this.#arm();
    });
  }

  readonly #onAbort = (): void => this.#finish();

  #advance(index: number): void {
    const { value: request, done } = this.#requests.next();
    this.#next =
      done === true ? undefined : { request, index, intendedUs: this.#startUs + request.atUs };
  }

  #arm(): void {
    if (this.#next !== undefined) {
      this.#cancelNext = this.#clock.at(this.#next.intendedUs, this.#onDue, { precise: true });
    } else if (this.#open === 0) {
      this.#finish();
    }
  }

  /** One timer at a time. After a late one several may be due; each still counts from its own instant. */
  readonly #onDue = (): void => {
    if (this.#over) return;
    this.#guard(() => {
      const nowUs = this.#clock.nowUs();
      for (let sends = 0; sends < SENDS_PER_TURN; sends += 1) {
        const job = this.#next;
        if (job === undefined || job.intendedUs > nowUs) break;
        this.#arrivals.add(job.request.atUs);
        this.#collector.offer();
        this.#take(job);
        this.#advance(job.index + 1);
      }
      this.#arm();
    });
  };

  #take(job: Job): void {
    if (this.#open < this.#openMax) {
      this.#send(job);
    } else if (!this.#queue.push(job)) {
      const endUs = this.#clock.nowUs();
      this.#collector.add(job, endUs, neverSent("client-backlog", endUs));
    }
  }

  #send(job: Job): void {
    const dispatchedUs = this.#clock.nowUs();
    this.#open += 1;
    this.#collector.sent();
    this.#options.target.send(job, (outcome) => {
      if (this.#over) return;
      this.#guard(() => this.#onDone(job, dispatchedUs, outcome));
    });
  }

  #onDone(job: Job, dispatchedUs: number, outcome: Outcome): void {
    this.#open -= 1;
    this.#collector.add(job, dispatchedUs, outcome);
    const waiting = this.#queue.shift();
    if (waiting !== undefined) this.#send(waiting);
    else if (this.#open === 0 && this.#next === undefined) this.#finish();
  }

  #armProgress(nowUs: number): void {
    const { onProgress, progressEveryUs = 10_000_000 } = this.#options;
    if (onProgress === undefined) return;
    this.#cancelProgress = this.#clock.at(nowUs + progressEveryUs, () => {
      if (this.#over) return;
      this.#guard(() => {
        onProgress(this.#collector.progress(this.#open, this.#clock.nowUs() - this.#startUs));
        this.#armProgress(this.#clock.nowUs());
      });
    });
  }

  #finish(): void {
    if (this.#over) return;
    this.#stop();
    const endUs = this.#clock.nowUs();
    const elapsedUs = Math.max(0, endUs - this.#startUs);
    const isPartial = this.#options.signal?.aborted === true;
    // A run that was cut short offered only what had come due by then.
    const spanUs = isPartial ? Math.min(this.#options.spanUs, elapsedUs) : this.#options.spanUs;
    this.#resolve(
      toLoadRun(this.#options, this.#collector, {
        spanUs,
        elapsedUs,
        arrivals: this.#arrivals.finish(spanUs),
        loopLag: this.#lag.histogram,
        concurrencyMax: this.#options.concurrencyMax ?? null,
        open: this.#open,
        waiting: this.#queue.size,
      }),
    );
  }

  #stop(): void {
    this.#over = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#cancelNext?.();
    this.#cancelProgress?.();
    this.#lag.stop();
  }

  /** A fault in a callback of a timer would end the process; it ends the run instead. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (thrown) {
      this.#stop();
      this.#reject(thrown);
    }
  }
}

/** The outcome of a request that never left this process. */
function neverSent(failure: FailureClass, endUs: number): Outcome {
  return {
    failure,
    endUs,
    sentUs: null,
    headersUs: null,
    connection: null,
    stream: null,
    outputTokens: null,
  };
}
