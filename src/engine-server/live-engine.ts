/**
 * The twin in real time: the engines of `src/engine`, one or several behind a router, and what their events mean for the
 * clients that wait.
 *
 *     submit ─▶ router ─▶ engine ─▶ onToken ─▶ delivery.tokens ─▶ socket
 *        abort ──────────▶ │  ─▶ onFinish ─▶ delivery.end
 *
 * Invariant: a call is in `open` from the moment an engine has taken it until it has ended, was aborted or has failed; it
 * leaves once, and nothing is written for it after that.
 */
import type { Clock } from "../clock/index.ts";
import { ManxError, toManxError } from "../core/index.ts";
import {
  buildServing,
  type CostModel,
  checkFleet,
  type Engine,
  type EngineConfig,
  type EngineRequest,
  type Fleet,
  keepsPrefixes,
  type RequestShape,
  type Serving,
} from "../engine/index.ts";
import type { RouterName } from "../policy/index.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import { EntryRouter } from "./entry-router.ts";
import type { LiveCall } from "./live-call.ts";
import { TwinClock } from "./twin-clock.ts";

export interface LiveEngineOptions {
  readonly config: EngineConfig;
  readonly clock: Clock;
  readonly servedModel: string;
  /** How many times as fast as the priced GPU the twin runs. */
  readonly speed: number;
  /** Most requests that wait, all engines together; more are refused. */
  readonly waitingMax: number;
  /** Engines of this config; default 1, and 1 with pools. */
  readonly replicas?: number;
  /** How requests are spread over them; default round robin. */
  readonly routing?: RouterName;
  /** What happens to the replicas; times count from the start of the server, in the twin's time. */
  readonly fleet?: Fleet;
  /** Of the neighbours; default 0. */
  readonly seed?: number;
  readonly cost?: CostModel;
  readonly checked?: boolean;
}

/** Routing by prefix keeps a bit for each engine. */
export const ENGINES_MAX = 31;
/** Of the host's time: further behind than this, lost time is given up. */
const LAG_LIMIT_US = 100_000;

export class LiveEngine {
  readonly metrics: EngineMetrics;
  /** What the prefix cache names; undefined without one. */
  readonly pieceTokens: number | undefined;
  readonly #serving: Serving;
  readonly #router: EntryRouter;
  readonly #clock: Clock;
  readonly #contextMax: number;
  readonly #waitingMax: number;
  readonly #open = new Set<EngineRequest<LiveCall>>();
  #failure: ManxError | undefined;

  /** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
  constructor(options: LiveEngineOptions) {
    const { clock, speed } = options;
    // Traces name prompts in coarse pieces; live text can be told apart block by block, as vLLM does.
    const config = { ...options.config, pieceTokens: options.config.blockTokens };
    if (keepsPrefixes(config)) this.pieceTokens = config.pieceTokens;
    refuseImpossible(options);
    this.#clock = clock;
    this.#contextMax = config.contextMax;
    this.#waitingMax = options.waitingMax;
    const twinClock = new TwinClock(clock, speed, {
      onStep: (lateUs) => this.metrics.stepped(lateUs),
      onThrow: (thrown) => this.#fail(thrown),
    });
    this.#serving = this.#serve(options, config, twinClock);
    this.#router = new EntryRouter(this.#serving, options.routing ?? "round-robin");
    const { engines } = this.#serving;
    const { servedModel } = options;
    this.metrics = new EngineMetrics({ engines, config, servedModel, clock, twinClock });
  }

  /** All that compute: replicas, or prefill engines and then decode engines. */
  get engines(): readonly Engine[] {
    return this.#serving.engines;
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
    const smallest = Math.min(...this.engines.map(({ scheduler }) => scheduler.kv.totalTokens));
    // The KV of the last output token is never written.
    return Math.min(this.#contextMax, smallest + 1);
  }

  /** @throws MANX_OVERLOADED, and whatever ended the engine before. */
  assertOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const waiting = this.engines.reduce((sum, { scheduler }) => sum + scheduler.waiting, 0);
    if (waiting < this.#waitingMax) return;
    throw new ManxError("MANX_OVERLOADED", {
      what: "the engine's queue is full",
      expected: `fewer than ${this.#waitingMax} waiting requests`,
      got: `${waiting}`,
    });
  }

  /** @throws MANX_REQUEST_NEVER_FITS */
  assertFits(shape: RequestShape): void {
    // Of pools, the last one decodes: it has to hold the answer, too.
    this.engines[0]!.assertFits(shape);
    this.engines.at(-1)!.assertFits(shape);
  }

  /** @throws MANX_REQUEST_NEVER_FITS */
  submit(call: LiveCall): EngineRequest<LiveCall> {
    const { prompt, priority } = call.request;
    const { tokens: promptTokens, pieceNames } = prompt;
    const { tenant } = call;
    const outputTokens = call.answer.tokens;
    const shape = { promptTokens, outputTokens, prefixIds: pieceNames, priority, tenant };
    this.assertFits(shape);
    try {
      this.#router.place(call);
      const request = this.#serving.submit(call.entry, shape, call);
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
    if (!this.#leave(request)) return;
    this.metrics.ended(request.tag, "abort");
    try {
      this.#serving.abort(request.tag.entry, request as EngineRequest);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Nothing more is computed; whoever still waits is told why. */
  stop(reason: ManxError): void {
    this.#failure ??= reason;
    for (const engine of this.engines) engine.stop();
    for (const request of this.#open) {
      this.#leave(request);
      this.metrics.ended(request.tag, "error");
      request.tag.delivery.fail(reason);
    }
  }

  #serve(options: LiveEngineOptions, config: EngineConfig, clock: TwinClock): Serving {
    const { fleet, cost, checked, replicas = 1, seed = 0, speed } = options;
    return buildServing({
      config,
      clock,
      replicas,
      seed,
      lagLimitUs: LAG_LIMIT_US * speed,
      sink: {
        onToken: (request, _, inStep) => this.#token(request as EngineRequest<LiveCall>, inStep),
        onFinish: (request) => this.#finish(request as EngineRequest<LiveCall>),
        onPreempt: (request) => this.metrics.preempted(request.tag as LiveCall),
      },
      ...(fleet !== undefined && { fleet }),
      ...(cost !== undefined && { cost }),
      ...(checked !== undefined && { checked }),
    });
  }

  #fail(thrown: unknown): void {
    this.stop(toManxError(thrown));
  }

  #token(request: EngineRequest<LiveCall>, inStep: number): void {
    if (!this.#open.has(request)) return;
    const { tag: call, generated } = request;
    if (generated === 1) this.#router.begun(call);
    if (!call.countToken(inStep)) return;
    call.delivery.tokens(generated - inStep, generated);
    this.metrics.tokens(call, inStep, this.#clock.nowUs());
  }

  #finish(request: EngineRequest<LiveCall>): void {
    if (!this.#leave(request)) return;
    request.tag.delivery.end(request.cachedTokens);
    this.metrics.finished(request.tag, request as EngineRequest, this.#clock.nowUs());
  }

  /** Answers false if it was not open any more. */
  #leave(request: EngineRequest<LiveCall>): boolean {
    if (!this.#open.delete(request)) return false;
    this.#router.left(request.tag);
    return true;
  }
}

/** @throws MANX_CONFIG_IMPOSSIBLE */
function refuseImpossible({ speed, replicas = 1, config, fleet }: LiveEngineOptions): void {
  const { pools } = config;
  const refuse = (where: string, expected: string, got: unknown): never => {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", { where, expected, got: String(got) });
  };
  if (!(speed > 0 && Number.isFinite(speed))) {
    refuse("speed", "a number above 0, such as 1 for the priced GPU's own pace", speed);
  }
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > ENGINES_MAX) {
    refuse("replicas", `1 to ${ENGINES_MAX} engines in one server`, replicas);
  }
  if (pools !== undefined && Math.max(pools.prefill, pools.decode) > ENGINES_MAX) {
    refuse("pools", `at most ${ENGINES_MAX} engines each`, `${pools.prefill} + ${pools.decode}`);
  }
  if (pools !== undefined && replicas > 1) refuse("replicas", "1 with pools", replicas);
  if (pools !== undefined && fleet !== undefined) {
    refuse("pools", "either pools, or what happens to replicas", "both");
  }
  if (fleet !== undefined) checkFleet(fleet, replicas);
}
