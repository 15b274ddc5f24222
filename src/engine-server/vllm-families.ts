/**
 * The metric families of vLLM V1 that the twin has, each with a series for every engine, told apart by the label `engine`
 * as with vLLM's data parallelism. Names, meaning and buckets are vLLM's, so that dashboards, alerts and advisors made for
 * it read the twin unchanged.
 */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type Engine, type EngineConfig, keepsPrefixes } from "../engine/index.ts";
import {
  LAG_BUCKETS_S,
  lengthBuckets,
  REQUEST_TIME_BUCKETS_S,
  STEP_TOKENS_BUCKETS,
  TOKEN_TIME_BUCKETS_S,
  TTFT_BUCKETS_S,
} from "./metric-buckets.ts";

type OfEngine = "engine";

export class VllmFamilies {
  readonly ttft: Histogram<OfEngine>;
  readonly itl: Histogram<OfEngine>;
  readonly tpot: Histogram<OfEngine>;
  readonly e2e: Histogram<OfEngine>;
  readonly queue: Histogram<OfEngine>;
  readonly prefill: Histogram<OfEngine>;
  readonly decode: Histogram<OfEngine>;
  readonly inference: Histogram<OfEngine>;
  readonly stepTokens: Histogram<OfEngine>;
  readonly lag: Histogram<OfEngine>;
  readonly promptLengths: Histogram<OfEngine>;
  readonly outputLengths: Histogram<OfEngine>;
  readonly limits: Histogram<OfEngine>;
  readonly promptTokens: Counter<OfEngine>;
  readonly generationTokens: Counter<OfEngine>;
  readonly preemptions: Counter<OfEngine>;
  readonly success: Counter<"finished_reason" | OfEngine>;
  readonly #registry: Registry;

  constructor(registry: Registry, engines: readonly Engine[], config: EngineConfig) {
    this.#registry = registry;
    const time = REQUEST_TIME_BUCKETS_S;
    const token = TOKEN_TIME_BUCKETS_S;
    const lengths = lengthBuckets(config.contextMax);
    this.ttft = this.#histogram(
      "vllm:time_to_first_token_seconds",
      "From the arrival of a request to its first token",
      TTFT_BUCKETS_S,
    );
    this.itl = this.#histogram(
      "vllm:inter_token_latency_seconds",
      "Gap between a response's steps that bring tokens, whatever their number",
      token,
    );
    this.tpot = this.#histogram(
      "vllm:request_time_per_output_token_seconds",
      "Mean gap between the tokens of a finished response",
      token,
    );
    this.e2e = this.#histogram(
      "vllm:e2e_request_latency_seconds",
      "From the arrival of a request to the end of its response",
      time,
    );
    this.queue = this.#histogram(
      "vllm:request_queue_time_seconds",
      "From the arrival of a request to its first step",
      time,
    );
    this.prefill = this.#histogram(
      "vllm:request_prefill_time_seconds",
      "From a request's first step to its first token",
      time,
    );
    this.decode = this.#histogram(
      "vllm:request_decode_time_seconds",
      "From a request's first token to its last",
      time,
    );
    this.inference = this.#histogram(
      "vllm:request_inference_time_seconds",
      "From a request's first step to its last token",
      time,
    );
    this.stepTokens = this.#histogram(
      "vllm:iteration_tokens_total",
      "Tokens computed in a step",
      STEP_TOKENS_BUCKETS,
    );
    this.lag = this.#histogram(
      "manx_engine_timer_lag_seconds",
      "How late the twin's own steps settled",
      LAG_BUCKETS_S,
    );
    this.promptLengths = this.#histogram(
      "vllm:request_prompt_tokens",
      "Prompt tokens of a finished request",
      lengths,
    );
    this.outputLengths = this.#histogram(
      "vllm:request_generation_tokens",
      "Tokens of a finished response",
      lengths,
    );
    this.limits = this.#histogram(
      "vllm:request_params_max_tokens",
      "The limit that a finished request had set",
      lengths,
    );
    this.promptTokens = this.#counter("vllm:prompt_tokens_total", "Prompt tokens taken in");
    this.generationTokens = this.#counter("vllm:generation_tokens_total", "Tokens generated");
    this.preemptions = this.#counter("vllm:num_preemptions_total", "Requests thrown out");
    this.success = new Counter({
      name: "vllm:request_success_total",
      help: "Responses that are over, by why",
      labelNames: ["finished_reason", "engine"],
      registers: [registry],
    });
    this.#addState(engines);
    if (keepsPrefixes(config)) this.#addPrefixCounters(engines);
    if (config.speculation !== undefined) this.#addSpeculation(engines);
    this.#addConfig(engines, config);
  }

  /** Gauges are read from the schedulers when they are asked for, so they cannot lag behind them. */
  #addState(engines: readonly Engine[]): void {
    this.#gauge("vllm:num_requests_running", "Requests in the batch", engines, ({ scheduler }) => {
      return scheduler.running;
    });
    this.#gauge("vllm:num_requests_waiting", "Requests in the queue", engines, ({ scheduler }) => {
      return scheduler.waiting;
    });
    this.#gauge(
      "vllm:kv_cache_usage_perc",
      "Share of the KV memory that is set aside, 0 to 1",
      engines,
      ({ scheduler: { kv } }) => kv.reservedTokens / kv.totalTokens,
    );
    this.#gauge(
      "manx_engine_resyncs",
      "Times that lost time was given up",
      engines,
      ({ totals }) => totals.resyncs,
    );
  }

  #addPrefixCounters(engines: readonly Engine[]): void {
    this.#readCounter(
      "vllm:prefix_cache_queries_total",
      "Prompt tokens that the prefix cache was asked for",
      engines,
      ({ scheduler }) => scheduler.prefix.queriedTokens,
    );
    this.#readCounter(
      "vllm:prefix_cache_hits_total",
      "Prompt tokens that the prefix cache had",
      engines,
      ({ scheduler }) => scheduler.prefix.hitTokens,
    );
  }

  #addSpeculation(engines: readonly Engine[]): void {
    this.#readCounter(
      "vllm:spec_decode_num_drafts_total",
      "Times that an answer had drafts in a step",
      engines,
      ({ scheduler }) => scheduler.speculation?.verifications ?? 0,
    );
    this.#readCounter(
      "vllm:spec_decode_num_draft_tokens_total",
      "Tokens drafted",
      engines,
      ({ scheduler }) => scheduler.speculation?.draftedTokens ?? 0,
    );
    this.#readCounter(
      "vllm:spec_decode_num_accepted_tokens_total",
      "Tokens drafted and accepted",
      engines,
      ({ scheduler }) => scheduler.speculation?.acceptedTokens ?? 0,
    );
  }

  #addConfig(engines: readonly Engine[], config: EngineConfig): void {
    const labels = (engine: Engine, i: number): Record<string, string> => ({
      block_size: String(config.blockTokens),
      num_gpu_blocks: String(Math.floor(engine.scheduler.kv.totalTokens / config.blockTokens)),
      gpu_memory_utilization: String(config.memoryShare),
      cache_dtype: "auto",
      enable_prefix_caching: keepsPrefixes(config) ? "True" : "False",
      engine: String(i),
    });
    const info = new Gauge({
      name: "vllm:cache_config_info",
      help: "How the KV memory is divided",
      labelNames: Object.keys(labels(engines[0]!, 0)),
      registers: [this.#registry],
    });
    engines.forEach((engine, i) => {
      info.set(labels(engine, i), 1);
    });
  }

  #histogram(name: string, help: string, buckets: readonly number[]): Histogram<OfEngine> {
    return new Histogram({
      name,
      help,
      buckets: [...buckets],
      labelNames: ["engine"],
      registers: [this.#registry],
    });
  }

  #counter(name: string, help: string): Counter<OfEngine> {
    return new Counter({ name, help, labelNames: ["engine"], registers: [this.#registry] });
  }

  #gauge(
    name: string,
    help: string,
    engines: readonly Engine[],
    read: (engine: Engine) => number,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: ["engine"],
      registers: [this.#registry],
      collect() {
        engines.forEach((engine, i) => {
          this.set({ engine: String(i) }, read(engine));
        });
      },
    });
  }

  /** A counter that somebody else counts. */
  #readCounter(
    name: string,
    help: string,
    engines: readonly Engine[],
    read: (engine: Engine) => number,
  ): void {
    new Counter({
      name,
      help,
      labelNames: ["engine"],
      registers: [this.#registry],
      collect() {
        this.reset();
        engines.forEach((engine, i) => {
          this.inc({ engine: String(i) }, read(engine));
        });
      },
    });
  }
}
