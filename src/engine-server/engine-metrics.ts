/**
 * What the twin tells Prometheus: vLLM V1's metric names, labels and buckets, and its own timer lag beside them.
 *
 * Two clocks meet here. What a client can see (TTFT, gaps, end to end) is measured when bytes are written. What only the
 * engine knows (queue, prefill, decode) is the difference of ends of steps, which are exact whatever timers did; the two
 * differ by the reported lag. Unlike vLLM, a request of one token adds no zero to TPOT: it has none.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { US_PER_S } from "../core/index.ts";
import {
  type Engine,
  type EngineConfig,
  type EngineRequest,
  keepsPrefixes,
} from "../engine/index.ts";
import { FAULT_KINDS, type FaultKind } from "./fault.ts";
import type { LiveCall } from "./live-call.ts";
import {
  LAG_BUCKETS_S,
  lengthBuckets,
  REQUEST_TIME_BUCKETS_S,
  STEP_TOKENS_BUCKETS,
  TOKEN_TIME_BUCKETS_S,
  TTFT_BUCKETS_S,
} from "./metric-buckets.ts";

/** Why a response was over, in the engine's eyes: a tool call is a stop like any other. */
export type EndReason = "stop" | "length" | "abort" | "error";
const END_REASONS: readonly EndReason[] = ["stop", "length", "abort", "error"];

export class EngineMetrics {
  readonly #registry = new Registry();
  readonly #ttft = this.#histogram(
    "vllm:time_to_first_token_seconds",
    "From the arrival of a request to its first token",
    TTFT_BUCKETS_S,
  );
  readonly #itl = this.#histogram(
    "vllm:inter_token_latency_seconds",
    "Gap between consecutive tokens of a response",
    TOKEN_TIME_BUCKETS_S,
  );
  readonly #tpot = this.#histogram(
    "vllm:request_time_per_output_token_seconds",
    "Mean gap between the tokens of a finished response",
    TOKEN_TIME_BUCKETS_S,
  );
  readonly #e2e = this.#histogram(
    "vllm:e2e_request_latency_seconds",
    "From the arrival of a request to the end of its response",
    REQUEST_TIME_BUCKETS_S,
  );
  readonly #queue = this.#histogram(
    "vllm:request_queue_time_seconds",
    "From the arrival of a request to its first step",
    REQUEST_TIME_BUCKETS_S,
  );
  readonly #prefill = this.#histogram(
    "vllm:request_prefill_time_seconds",
    "From a request's first step to its first token",
    REQUEST_TIME_BUCKETS_S,
  );
  readonly #decode = this.#histogram(
    "vllm:request_decode_time_seconds",
    "From a request's first token to its last",
    REQUEST_TIME_BUCKETS_S,
  );
  readonly #inference = this.#histogram(
    "vllm:request_inference_time_seconds",
    "From a request's first step to its last token",
    REQUEST_TIME_BUCKETS_S,
  );
  readonly #stepTokens = this.#histogram(
    "vllm:iteration_tokens_total",
    "Tokens computed in a step",
    STEP_TOKENS_BUCKETS,
  );
  readonly #lag = this.#histogram(
    "manx_engine_timer_lag_seconds",
    "How late the twin's own steps settled",
    LAG_BUCKETS_S,
  );
  readonly #promptTokens = this.#counter("vllm:prompt_tokens_total", "Prompt tokens taken in");
  readonly #generationTokens = this.#counter("vllm:generation_tokens_total", "Tokens generated");
  readonly #preemptions = this.#counter("vllm:num_preemptions_total", "Requests thrown out");
  readonly #success = new Counter({
    name: "vllm:request_success_total",
    help: "Responses that are over, by why",
    labelNames: ["finished_reason"],
    registers: [this.#registry],
  });
  readonly #refused = new Counter({
    name: "manx_engine_refused_total",
    help: "Requests answered with an error, by its code",
    labelNames: ["code"],
    registers: [this.#registry],
  });
  readonly #faults = new Counter({
    name: "manx_engine_faults_total",
    help: "Faults that happened because somebody asked for them, by kind",
    labelNames: ["kind"],
    registers: [this.#registry],
  });
  readonly #promptLengths: Histogram;
  readonly #outputLengths: Histogram;
  readonly #limits: Histogram;
  readonly #engine: Engine;
  #steps = 0;
  #computedTokens = 0;

  constructor(engine: Engine, config: EngineConfig, servedModel: string) {
    this.#engine = engine;
    this.#registry.setDefaultLabels({ model_name: servedModel, engine: "0" });
    const lengths = lengthBuckets(config.contextMax);
    this.#promptLengths = this.#histogram(
      "vllm:request_prompt_tokens",
      "Prompt tokens of a finished request",
      lengths,
    );
    this.#outputLengths = this.#histogram(
      "vllm:request_generation_tokens",
      "Tokens of a finished response",
      lengths,
    );
    this.#limits = this.#histogram(
      "vllm:request_params_max_tokens",
      "The limit that a finished request had set",
      lengths,
    );
    for (const finished_reason of END_REASONS) this.#success.inc({ finished_reason }, 0);
    for (const kind of FAULT_KINDS) this.#faults.inc({ kind }, 0);
    this.#addState();
    if (keepsPrefixes(config)) this.#addPrefixCounters();
    this.#addConfig(config);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The call's next token was written at `nowUs`. */
  token(call: LiveCall, nowUs: number): void {
    this.#generationTokens.inc();
    if (Number.isNaN(call.lastTokenUs)) {
      this.#ttft.observe((nowUs - call.arrivedUs) / US_PER_S);
      this.#promptTokens.inc(call.request.prompt.tokens);
    } else {
      this.#itl.observe((nowUs - call.lastTokenUs) / US_PER_S);
    }
    call.lastTokenUs = nowUs;
  }

  finished(call: LiveCall, done: EngineRequest, nowUs: number): void {
    // A step may have begun, by its own reckoning, a timer's lag before the request came in.
    const queuedUs = Math.max(0, done.scheduledUs - call.arrivedUs);
    const decodeUs = done.lastTokenUs - done.firstTokenUs;
    this.#e2e.observe((nowUs - call.arrivedUs) / US_PER_S);
    this.#queue.observe(queuedUs / US_PER_S);
    this.#prefill.observe((done.firstTokenUs - done.scheduledUs) / US_PER_S);
    this.#decode.observe(decodeUs / US_PER_S);
    this.#inference.observe((done.lastTokenUs - done.scheduledUs) / US_PER_S);
    if (done.generated > 1) this.#tpot.observe(decodeUs / (done.generated - 1) / US_PER_S);
    this.#promptLengths.observe(done.promptTokens);
    this.#outputLengths.observe(done.generated);
    const { maxTokens } = call.request;
    if (maxTokens !== undefined) this.#limits.observe(maxTokens);
    this.ended(call.answer.finish === "length" ? "length" : "stop");
  }

  ended(finished_reason: EndReason): void {
    this.#success.inc({ finished_reason });
  }

  preempted(): void {
    this.#preemptions.inc();
  }

  faulted(kind: FaultKind): void {
    this.#faults.inc({ kind });
  }

  refused(code: string): void {
    this.#refused.inc({ code });
  }

  /** A timer of the engine has run; if it settled a step, the totals have grown by that one. */
  stepped(lateUs: number): void {
    const { steps, computedTokens } = this.#engine.totals;
    if (steps === this.#steps) return;
    this.#lag.observe(lateUs / US_PER_S);
    this.#stepTokens.observe(computedTokens - this.#computedTokens);
    this.#steps = steps;
    this.#computedTokens = computedTokens;
  }

  /** Gauges are read from the scheduler when they are asked for, so they cannot lag behind it. */
  #addState(): void {
    const { scheduler, totals } = this.#engine;
    const gauges: readonly [string, string, () => number][] = [
      ["vllm:num_requests_running", "Requests in the batch", () => scheduler.running],
      ["vllm:num_requests_waiting", "Requests in the queue", () => scheduler.waiting],
      [
        "vllm:kv_cache_usage_perc",
        "Share of the KV memory that is set aside, 0 to 1",
        () => scheduler.kv.reservedTokens / scheduler.kv.totalTokens,
      ],
      ["manx_engine_resyncs", "Times that lost time was given up", () => totals.resyncs],
    ];
    for (const [name, help, read] of gauges) {
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read());
        },
      });
    }
  }

  #addPrefixCounters(): void {
    const { scheduler } = this.#engine;
    const counters: readonly [string, string, () => number][] = [
      [
        "vllm:prefix_cache_queries_total",
        "Prompt tokens that the prefix cache was asked for",
        () => scheduler.prefix.queriedTokens,
      ],
      [
        "vllm:prefix_cache_hits_total",
        "Prompt tokens that the prefix cache had",
        () => scheduler.prefix.hitTokens,
      ],
    ];
    for (const [name, help, read] of counters) {
      new Counter({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    }
  }

  #addConfig(config: EngineConfig): void {
    const { kv } = this.#engine.scheduler;
    const labels = {
      block_size: String(config.blockTokens),
      num_gpu_blocks: String(Math.floor(kv.totalTokens / config.blockTokens)),
      gpu_memory_utilization: String(config.memoryShare),
      cache_dtype: "auto",
      enable_prefix_caching: keepsPrefixes(config) ? "True" : "False",
    };
    const info = new Gauge({
      name: "vllm:cache_config_info",
      help: "How the KV memory is divided",
      labelNames: Object.keys(labels),
      registers: [this.#registry],
    });
    info.set(labels, 1);
  }

  #histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    return new Histogram({ name, help, buckets: [...buckets], registers: [this.#registry] });
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] });
  }
}
