/**
 * The metric families of vLLM V1 that the twin has, each with a series for every engine, told apart by the label `engine`
 * as with vLLM's data parallelism. Names, meaning and buckets are vLLM's, so that dashboards, alerts and advisors made for
 * it read the twin unchanged.
 */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type Engine, type EngineConfig, keepsPrefixes, type SwapTotals } from "../engine/index.ts";
import {
  LAG_BUCKETS_S,
  lengthBuckets,
  REQUEST_TIME_BUCKETS_S,
  STEP_TOKENS_BUCKETS,
  TOKEN_TIME_BUCKETS_S,
  TTFT_BUCKETS_S,
} from "./metric-buckets.ts";

type OfEngine = "engine";

interface HistogramForm {
  readonly name: string;
  readonly help: string;
  /** "lengths": as far as the context goes. */
  readonly buckets: readonly number[] | "lengths";
}

const HISTOGRAMS = {
  ttft: {
    name: "vllm:time_to_first_token_seconds",
    help: "From the arrival of a request to its first token",
    buckets: TTFT_BUCKETS_S,
  },
  itl: {
    name: "vllm:inter_token_latency_seconds",
    help: "Gap between a response's steps that bring tokens, whatever their number",
    buckets: TOKEN_TIME_BUCKETS_S,
  },
  tpot: {
    name: "vllm:request_time_per_output_token_seconds",
    help: "Mean gap between the tokens of a finished response",
    buckets: TOKEN_TIME_BUCKETS_S,
  },
  e2e: {
    name: "vllm:e2e_request_latency_seconds",
    help: "From the arrival of a request to the end of its response",
    buckets: REQUEST_TIME_BUCKETS_S,
  },
  queue: {
    name: "vllm:request_queue_time_seconds",
    help: "From the arrival of a request to its first step",
    buckets: REQUEST_TIME_BUCKETS_S,
  },
  prefill: {
    name: "vllm:request_prefill_time_seconds",
    help: "From a request's first step to its first token",
    buckets: REQUEST_TIME_BUCKETS_S,
  },
  decode: {
    name: "vllm:request_decode_time_seconds",
    help: "From a request's first token to its last",
    buckets: REQUEST_TIME_BUCKETS_S,
  },
  inference: {
    name: "vllm:request_inference_time_seconds",
    help: "From a request's first step to its last token",
    buckets: REQUEST_TIME_BUCKETS_S,
  },
  stepTokens: {
    name: "vllm:iteration_tokens_total",
    help: "Tokens computed in a step",
    buckets: STEP_TOKENS_BUCKETS,
  },
  lag: {
    name: "manx_engine_timer_lag_seconds",
    help: "How late the twin's own steps settled",
    buckets: LAG_BUCKETS_S,
  },
  promptLengths: {
    name: "vllm:request_prompt_tokens",
    help: "Prompt tokens of a finished request",
    buckets: "lengths",
  },
  outputLengths: {
    name: "vllm:request_generation_tokens",
    help: "Tokens of a finished response",
    buckets: "lengths",
  },
  limits: {
    name: "vllm:request_params_max_tokens",
    help: "The limit that a finished request had set",
    buckets: "lengths",
  },
} as const satisfies Record<string, HistogramForm>;

export type VllmHistogram = keyof typeof HISTOGRAMS;

export class VllmFamilies {
  readonly histograms: Readonly<Record<VllmHistogram, Histogram<OfEngine>>>;
  readonly promptTokens: Counter<OfEngine>;
  readonly generationTokens: Counter<OfEngine>;
  readonly preemptions: Counter<OfEngine>;
  readonly success: Counter<"finished_reason" | OfEngine>;
  readonly #registry: Registry;

  constructor(registry: Registry, engines: readonly Engine[], config: EngineConfig) {
    this.#registry = registry;
    const lengths = lengthBuckets(config.contextMax);
    const made = Object.entries(HISTOGRAMS).map(([key, form]) => [
      key,
      this.#histogram({ ...form, buckets: form.buckets === "lengths" ? lengths : form.buckets }),
    ]);
    this.histograms = Object.fromEntries(made);
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
    if (config.preemption === "swap") this.#addSwaps(engines);
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

  /** vLLM V1 does not swap, so but for the two gauges, which were V0's, the names are ours. */
  #addSwaps(engines: readonly Engine[]): void {
    this.#gauge(
      "vllm:num_requests_swapped",
      "Requests whose KV is in host memory",
      engines,
      ({ scheduler: { host } }) => host?.held ?? 0,
    );
    this.#gauge(
      "vllm:cpu_cache_usage_perc",
      "Share of the host memory for KV that is in use, 0 to 1",
      engines,
      ({ scheduler: { host } }) =>
        host === undefined || host.totalTokens === 0 ? 0 : host.usedTokens / host.totalTokens,
    );
    const counters: [keyof SwapTotals, string, string][] = [
      ["out", "swaps_out", "Requests whose KV was moved to host memory"],
      ["in", "swaps_in", "Requests whose KV came back from host memory"],
      ["dropped", "swaps_dropped", "Requests that ended while their KV was in host memory"],
      ["refused", "swaps_refused", "Requests computed again, since host memory was full"],
      ["outTokens", "swap_out_tokens", "Tokens of KV moved to host memory, in whole blocks"],
      ["inTokens", "swap_in_tokens", "Tokens of KV moved back, in whole blocks"],
    ];
    for (const [key, name, help] of counters) {
      this.#readCounter(`manx_engine_${name}_total`, help, engines, ({ scheduler: { host } }) => {
        return host?.totals[key] ?? 0;
      });
    }
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

  #histogram(form: HistogramForm & { buckets: readonly number[] }): Histogram<OfEngine> {
    return new Histogram({
      ...form,
      buckets: [...form.buckets],
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
