/**
 * What an engine did between two looks at its /metrics: how many requests, how long they were, and how long they waited. vLLM
 * and SGLang name the same things differently. Sums and counts are exact; what lies inside a bucket is not known, so of
 * quantiles only the bucket's ends are given.
 */
import { ManxError } from "../../core/index.ts";
import type { MetricsPage, PageHistogram } from "./metrics-page.ts";

export interface MetricsWindow {
  readonly seconds: number;
  /** Requests that had their first token in it. */
  readonly requests: number;
  readonly ttft: PageHistogram;
  /** Gaps between tokens. */
  readonly itl: PageHistogram;
  readonly e2e: PageHistogram | undefined;
  /** Lengths of finished requests, if the engine tells them. */
  readonly promptTokens: PageHistogram | undefined;
  readonly outputTokens: PageHistogram | undefined;
  /** Means from the counters of all tokens. */
  readonly promptTokensMean: number;
  readonly outputTokensMean: number;
}

export interface EngineFacts {
  readonly engine: "vllm" | "sglang";
  /** Of the KV memory, if the page tells it. */
  readonly kvTokens: number | undefined;
  /** At the moment of the page. */
  readonly running: number | undefined;
  readonly waiting: number | undefined;
  readonly kvShare: number | undefined;
}

const NAMES = {
  vllm: {
    ttft: ["vllm:time_to_first_token_seconds"],
    itl: [
      "vllm:inter_token_latency_seconds",
      "vllm:time_per_output_token_seconds",
      "vllm:request_time_per_output_token_seconds",
    ],
    e2e: ["vllm:e2e_request_latency_seconds"],
    promptLengths: ["vllm:request_prompt_tokens"],
    outputLengths: ["vllm:request_generation_tokens"],
    prompts: ["vllm:prompt_tokens_total", "vllm:prompt_tokens"],
    outputs: ["vllm:generation_tokens_total", "vllm:generation_tokens"],
    running: ["vllm:num_requests_running"],
    waiting: ["vllm:num_requests_waiting"],
    kvShare: ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
  },
  sglang: {
    ttft: ["sglang:time_to_first_token_seconds"],
    itl: ["sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"],
    e2e: ["sglang:e2e_request_latency_seconds"],
    promptLengths: ["sglang:prompt_tokens_histogram"],
    outputLengths: ["sglang:generation_tokens_histogram"],
    prompts: ["sglang:prompt_tokens_total"],
    outputs: ["sglang:generation_tokens_total"],
    running: ["sglang:num_running_reqs"],
    waiting: ["sglang:num_queue_reqs"],
    kvShare: ["sglang:token_usage"],
  },
} as const;

/** @throws MANX_TABLE_FORMAT if the page is of neither engine. */
export function engineFacts(page: MetricsPage): EngineFacts {
  const engine = engineOf(page);
  const names = NAMES[engine];
  return {
    engine,
    kvTokens: kvTokensOf(page),
    running: page.sum(...names.running),
    waiting: page.sum(...names.waiting),
    kvShare: page.sum(...names.kvShare),
  };
}

function engineOf(page: MetricsPage): EngineFacts["engine"] {
  for (const engine of ["vllm", "sglang"] as const) {
    if (page.names.some((name) => name.startsWith(`${engine}:`))) return engine;
  }
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "a page of metrics is not of an engine that Manx knows",
    where: page.where,
    expected: "metrics whose names begin with vllm: or sglang:",
    got: page.names.slice(0, 5).join(", "),
    hint: "give the engine's own /metrics, not a gateway's; SGLang needs --enable-metrics",
  });
}

function kvTokensOf(page: MetricsPage): number | undefined {
  const info = "vllm:cache_config_info";
  const blocks =
    Number(page.label(info, "num_gpu_blocks")) * Number(page.label(info, "block_size"));
  const tokens =
    Number.isFinite(blocks) && blocks > 0 ? blocks : page.sum("sglang:max_total_num_tokens");
  return tokens === undefined || tokens < 1 ? undefined : Math.floor(tokens);
}

/**
 * @param before undefined for all since the engine was started.
 * @param seconds between the two, or since the start.
 * @throws MANX_TABLE_FORMAT if something needed is missing, nothing happened, or the engine was started anew in between.
 */
export function metricsWindow(
  before: MetricsPage | undefined,
  after: MetricsPage,
  seconds: number,
): MetricsWindow {
  const names = NAMES[engineOf(after)];
  const histogram = (list: readonly string[]): PageHistogram | undefined => {
    const late = after.histogram(...list);
    const early = before?.histogram(...list);
    return late === undefined || early === undefined ? late : since(early, late, after.where);
  };
  const counted = (list: readonly string[]): number => {
    const total = (after.sum(...list) ?? Number.NaN) - (before?.sum(...list) ?? 0);
    if (total < 0) refuseRestart(after.where);
    return total;
  };
  const ttft = needed(histogram(names.ttft), names.ttft[0], after);
  const itl = needed(histogram(names.itl), names.itl[0], after);
  if (ttft.count < 1 || itl.count < 1) {
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "nothing was served between the two looks at the metrics",
      where: after.where,
      expected: "requests with tokens",
      got: `${ttft.count} first tokens, ${itl.count} further ones`,
      hint: "send load meanwhile, or look again after a longer interval",
    });
  }
  return {
    seconds,
    requests: ttft.count,
    ttft,
    itl,
    e2e: histogram(names.e2e),
    promptTokens: histogram(names.promptLengths),
    outputTokens: histogram(names.outputLengths),
    promptTokensMean: counted(names.prompts) / ttft.count,
    outputTokensMean: counted(names.outputs) / ttft.count,
  };
}

function needed(
  histogram: PageHistogram | undefined,
  name: string,
  page: MetricsPage,
): PageHistogram {
  if (histogram !== undefined) return histogram;
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "a page of metrics lacks a histogram",
    where: page.where,
    expected: `${name}_bucket`,
    got: page.names.slice(0, 8).join(", "),
    hint: "the engine has to have served a request; SGLang needs --enable-metrics",
  });
}

function since(early: PageHistogram, late: PageHistogram, where: string): PageHistogram {
  const count = late.count - early.count;
  if (count < 0 || early.ends.length !== late.ends.length) refuseRestart(where);
  return {
    ends: late.ends,
    counts: late.counts.map((one, i) => Math.max(0, one - early.counts[i]!)),
    sum: late.sum - early.sum,
    count,
  };
}

function refuseRestart(where: string): never {
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "counters of the engine have fallen between the two looks",
    where,
    hint: "it was started anew, or the pages are in the wrong order; look again",
  });
}
