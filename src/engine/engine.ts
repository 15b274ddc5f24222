/**
 * The driver: the only part of the twin that uses a clock.
 *
 *     submit ─▶ kick ─▶ plan ─▶ (the step takes its price) ─▶ commit ─▶ kick ─▶ …
 *
 * A step ends at its start plus its price, not when a timer happened to run, so a late timer delays nobody but its own
 * reader and errors do not add up. Against a real clock the engine keeps count of how late it ran, and gives up the lost
 * time once it is more than `lagLimitUs` behind, instead of rushing through steps to catch up.
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import type { Batch } from "./batch.ts";
import type { CostModel } from "./cost-model.ts";
import { finishUs, type Interference } from "./interference/index.ts";
import { EngineRequest, type RequestShape } from "./request.ts";
import type { EngineSink, Scheduler } from "./scheduler.ts";

/** How far behind a live engine gives up the lost time, unless it is told otherwise. */
const LAG_LIMIT_US = 100_000;

export interface EngineOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly cost: CostModel;
  readonly sink: EngineSink;
  /** Longest prompt plus output of one request, tokens. */
  readonly contextMax: number;
  /** Verifies conservation after every step; costs time in proportion to the batch. */
  readonly checked?: boolean;
  /** A replica that starts cold: takes requests, but computes nothing before this time. Default 0. */
  readonly readyUs?: number;
  /** Who else uses the GPU. */
  readonly interference?: Interference;
  /** Real time only: the lag at which lost time is given up. Default 100 ms. */
  readonly lagLimitUs?: number;
  /** Called when a step has been settled, before the next is planned. */
  readonly afterStep?: () => void;
}

/** What all steps so far added up to. */
export interface EngineTotals {
  steps: number;
  busyUs: number;
  /** Requests in steps, counted once a step. */
  requestSteps: number;
  computedTokens: number;
  preemptions: number;
  /** Σ over steps of tokens of answers under way in the KV memory, of tokens set aside, and of all tokens it has. */
  liveTokenSteps: number;
  reservedTokenSteps: number;
  totalTokenSteps: number;
  /** Real time only: the largest lag seen, how often lost time was given up, and how much of it. */
  lagUsMax: number;
  resyncs: number;
  lostUs: number;
}

export class Engine {
  readonly totals: EngineTotals = {
    steps: 0,
    busyUs: 0,
    requestSteps: 0,
    computedTokens: 0,
    preemptions: 0,
    liveTokenSteps: 0,
    reservedTokenSteps: 0,
    totalTokenSteps: 0,
    lagUsMax: 0,
    resyncs: 0,
    lostUs: 0,
  };
  readonly #options: EngineOptions;
  readonly #sink: EngineSink;
  #busy = false;
  #cancelWake: Cancel | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { sink } = options;
    this.#sink = {
      onToken: (request, nowUs, inStep) => sink.onToken(request, nowUs, inStep),
      onFinish: (request, nowUs) => sink.onFinish(request, nowUs),
      onPreempt: (request, nowUs) => {
        this.totals.preemptions += 1;
        sink.onPreempt?.(request, nowUs);
      },
    };
  }

  get scheduler(): Scheduler {
    return this.#options.scheduler;
  }

  /** @throws MANX_REQUEST_NEVER_FITS if even an empty engine could not hold it. */
  submit<Tag>(shape: RequestShape, tag: Tag): EngineRequest<Tag> {
    const { clock, scheduler } = this.#options;
    this.assertFits(shape);
    const request = new EngineRequest(shape, clock.nowUs(), tag);
    scheduler.enqueue(request as EngineRequest);
    this.wake();
    return request;
  }

  /** @throws MANX_REQUEST_NEVER_FITS */
  assertFits(shape: RequestShape): void {
    const { scheduler, contextMax } = this.#options;
    const tokens = shape.promptTokens + shape.outputTokens;
    const got = `${shape.promptTokens} prompt + ${shape.outputTokens} output = ${tokens} tokens`;
    if (tokens > contextMax) {
      throw new ManxError("MANX_REQUEST_NEVER_FITS", {
        what: "the request is longer than the model's context",
        expected: `at most ${contextMax} tokens`,
        got,
      });
    }
    if (!scheduler.kv.canEverHold(tokens - 1)) {
      throw new ManxError("MANX_REQUEST_NEVER_FITS", {
        what: "the request is larger than the KV memory",
        expected: `at most ${scheduler.kv.totalTokens} tokens in ${scheduler.kv.name} KV memory`,
        got,
      });
    }
  }

  /** Answers false if it had already ended. Nothing more is heard of an aborted request. */
  abort(request: EngineRequest): boolean {
    return this.#options.scheduler.abort(request);
  }

  /** Something outside has changed what could be done: looks for work if it has none. */
  wake(): void {
    if (!this.#busy) this.#kick(this.#options.clock.nowUs());
  }

  /** Stops planning; what is in flight is left alone. For shutting down a live engine. */
  stop(): void {
    this.#cancelWake?.();
    this.#busy = true;
  }

  #kick(fromUs: number): void {
    let startUs = fromUs;
    const { clock, scheduler, cost } = this.#options;
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    const { readyUs = 0, interference } = this.#options;
    if (startUs < readyUs) {
      this.#cancelWake = clock.at(readyUs, () => this.#kick(clock.nowUs()));
      return;
    }
    let batch = scheduler.plan(startUs);
    if (batch === undefined && clock.nowUs() > startUs) {
      // The last step settled late, and whoever came after its end is not in its past: they start now, or never would.
      startUs = clock.nowUs();
      batch = scheduler.plan(startUs);
    }
    if (batch === undefined) {
      const wakeUs = scheduler.wakeUs();
      if (wakeUs !== undefined) {
        this.#cancelWake = clock.at(wakeUs, () => this.#kick(clock.nowUs()));
      }
      return;
    }
    this.#busy = true;
    const priceUs = cost.stepUs(batch);
    const endUs =
      interference === undefined ? startUs + priceUs : finishUs(interference, startUs, priceUs);
    this.#cancelWake = clock.at(endUs, () => this.#settle(batch, endUs, endUs - startUs));
  }

  #settle(batch: Batch, endUs: number, tookUs: number): void {
    const { clock, scheduler, checked, lagLimitUs = LAG_LIMIT_US } = this.#options;
    this.#count(batch, tookUs);
    scheduler.commit(batch, endUs, this.#sink);
    if (checked === true) scheduler.check();
    this.#options.afterStep?.();
    this.#busy = false;
    const lagUs = clock.nowUs() - endUs;
    if (lagUs > this.totals.lagUsMax) this.totals.lagUsMax = lagUs;
    if (lagUs <= lagLimitUs) {
      this.#kick(endUs);
      return;
    }
    this.totals.resyncs += 1;
    this.totals.lostUs += lagUs;
    this.#kick(clock.nowUs());
  }

  #count(batch: Batch, tookUs: number): void {
    const { totals } = this;
    const { liveTokens, kv } = this.#options.scheduler;
    totals.steps += 1;
    totals.busyUs += tookUs;
    totals.requestSteps += batch.size;
    totals.computedTokens += batch.tokens;
    totals.liveTokenSteps += liveTokens - kv.sharedTokens;
    totals.reservedTokenSteps += kv.reservedTokens;
    totals.totalTokenSteps += kv.totalTokens;
  }
}
