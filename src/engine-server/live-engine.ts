/**
 * The twin in real time: the engine of `src/engine`, and what its events mean for the clients that wait.
 *
 *     submit ─▶ engine ─▶ onToken ─▶ delivery.token ─▶ socket
 *        abort ──▶ │  ─▶ onFinish ─▶ delivery.end
 *
 * Invariant: a call is in `open` from the moment the engine has taken it until it has ended, was aborted or has failed; it
 * leaves once, and nothing is written for it after that.
 */
import type { Clock } from "../clock/index.ts";
import { ManxError, toManxError } from "../core/index.ts";
import {
  buildEngine,
  type CostModel,
  type Engine,
  type EngineConfig,
  type EngineRequest,
  keepsPrefixes,
  rooflineOf,
} from "../engine/index.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import type { LiveCall } from "./live-call.ts";
import { StepClock } from "./step-clock.ts";

export interface LiveEngineOptions {
  readonly config: EngineConfig;
  readonly clock: Clock;
  readonly servedModel: string;
  /** How many times as fast as the priced GPU the twin runs. */
  readonly speed: number;
  /** Most requests that wait; more are refused. */
  readonly waitingMax: number;
  readonly cost?: CostModel;
  readonly checked?: boolean;
}

export class LiveEngine {
  readonly engine: Engine;
  readonly metrics: EngineMetrics;
  /** What the prefix cache names; undefined without one. */
  readonly pieceTokens: number | undefined;
  readonly #clock: Clock;
  readonly #contextMax: number;
  readonly #waitingMax: number;
  readonly #open = new Set<EngineRequest<LiveCall>>();
  #failure: ManxError | undefined;

  /** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
  constructor(options: LiveEngineOptions) {
    const { clock } = options;
    // Traces name prompts in coarse pieces; live text can be told apart block by block, as vLLM does.
    const config = { ...options.config, pieceTokens: options.config.blockTokens };
    if (keepsPrefixes(config)) this.pieceTokens = config.pieceTokens;
    this.#clock = clock;
    this.#contextMax = config.contextMax;
    this.#waitingMax = options.waitingMax;
    const stepClock = new StepClock(clock, {
      onStep: (lateUs) => this.metrics.stepped(lateUs),
      onThrow: (thrown) => this.#fail(thrown),
    });
    this.engine = buildEngine(config, {
      clock: stepClock,
      cost: fasterBy(options.speed, options.cost ?? rooflineOf(config)),
      sink: {
        onToken: (request) => this.#token(request as EngineRequest<LiveCall>),
        onFinish: (request) => this.#finish(request as EngineRequest<LiveCall>),
        onPreempt: () => this.metrics.preempted(),
      },
      ...(options.checked !== undefined && { checked: options.checked }),
    });
    this.metrics = new EngineMetrics(this.engine, config, options.servedModel);
  }

  /** Why it has stopped for good, if it has. */
  get failure(): ManxError | undefined {
    return this.#failure;
  }

  get open(): number {
    return this.#open.size;
  }

  /** Most tokens of prompt and output together that one request may have. */
  get roomTokens(): number {
    // The KV of the last output token is never written.
    return Math.min(this.#contextMax, this.engine.scheduler.kv.totalTokens + 1);
  }

  /** @throws MANX_OVERLOADED, and whatever ended the engine before. */
  assertOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const { waiting } = this.engine.scheduler;
    if (waiting < this.#waitingMax) return;
    throw new ManxError("MANX_OVERLOADED", {
      what: "the engine's queue is full",
      expected: `fewer than ${this.#waitingMax} waiting requests`,
      got: `${waiting}`,
    });
  }

  /** @throws MANX_REQUEST_NEVER_FITS */
  submit(call: LiveCall): EngineRequest<LiveCall> {
    const { tokens: promptTokens, pieceNames } = call.request.prompt;
    const outputTokens = call.answer.tokens;
    const shape = { promptTokens, outputTokens, prefixIds: pieceNames };
    this.engine.assertFits(shape);
    try {
      const request = this.engine.submit(shape, call);
      this.#open.add(request);
      return request;
    } catch (thrown) {
      // It fits, so this is a broken plan.
      this.#fail(thrown);
      throw thrown;
    }
  }

  /** The client has left. Its memory is free at the end of the step in flight at the latest. */
  abort(request: EngineRequest<LiveCall>): void {
    if (!this.#open.delete(request)) return;
    this.metrics.ended("abort");
    try {
      this.engine.abort(request as EngineRequest);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Nothing more is computed; whoever still waits is told why. */
  stop(reason: ManxError): void {
    this.#failure ??= reason;
    this.engine.stop();
    for (const request of this.#open) {
      this.#open.delete(request);
      this.metrics.ended("error");
      request.tag.delivery.fail(reason);
    }
  }

  #fail(thrown: unknown): void {
    this.stop(toManxError(thrown));
  }

  #token(request: EngineRequest<LiveCall>): void {
    if (!this.#open.has(request)) return;
    request.tag.delivery.token(request.generated - 1);
    this.metrics.token(request.tag, this.#clock.nowUs());
  }

  #finish(request: EngineRequest<LiveCall>): void {
    if (!this.#open.delete(request)) return;
    request.tag.delivery.end(request.cachedTokens);
    this.metrics.finished(request.tag, request as EngineRequest, this.#clock.nowUs());
  }
}

/** @throws MANX_CONFIG_IMPOSSIBLE */
function fasterBy(speed: number, cost: CostModel): CostModel {
  if (!(speed > 0 && Number.isFinite(speed))) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "speed",
      expected: "a number above 0, such as 1 for the priced GPU's own pace",
      got: String(speed),
    });
  }
  if (speed === 1) return cost;
  return {
    name: `${cost.name} × ${speed}`,
    stepUs: (batch) => Math.max(1, Math.round(cost.stepUs(batch) / speed)),
  };
}
