/**
 * What vLLM and SGLang say of themselves, in one form. Several series of one name are the engines of a data-parallel server
 * (or its models): counts add up, shares are averaged. Names that changed between versions are all known.
 */
import type { EngineReport } from "../../policy/index.ts";
import { type MetricsPage, parseMetricsPage } from "./metrics-page.ts";

const WAITING = ["vllm:num_requests_waiting", "sglang:num_queue_reqs"];
const RUNNING = ["vllm:num_requests_running", "sglang:num_running_reqs"];
/** `gpu_cache_usage_perc` before vLLM 0.10. */
const KV_USE = ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"];
const CACHE_TOKENS = "sglang:max_total_num_tokens";
const CACHE_CONFIG = "vllm:cache_config_info";
const STARTED = "process_start_time_seconds";
const WANTED = new Set([...WAITING, ...RUNNING, ...KV_USE, CACHE_TOKENS, CACHE_CONFIG, STARTED]);

export interface ReadReport {
  /** Undefined if the page is not that of an engine. */
  readonly report: EngineReport | undefined;
  readonly badLines: number;
}

export function readEngineReport(text: string): ReadReport {
  const page = parseMetricsPage(text, WANTED);
  const { badLines } = page;
  const waiting = sum(page, WAITING);
  const running = sum(page, RUNNING);
  if (waiting === undefined || running === undefined) return { report: undefined, badLines };
  const kvUse = mean(page, KV_USE);
  const cacheTokens = sum(page, [CACHE_TOKENS]) ?? blockTokens(page);
  const [startedS] = values(page, [STARTED]);
  return {
    report: {
      waiting,
      running,
      ...(kvUse !== undefined && { kvUse: Math.min(1, kvUse) }),
      ...(cacheTokens !== undefined && { cacheTokens }),
      ...(startedS !== undefined && { startedS }),
    },
    badLines,
  };
}

/** Of the first name that the page has. Gauges that are endless, negative or no number say nothing. */
function values({ samples }: MetricsPage, names: readonly string[]): readonly number[] {
  const name = names.find((one) => samples.has(one));
  if (name === undefined) return [];
  return samples
    .get(name)!
    .flatMap(({ value }) => (Number.isFinite(value) && value >= 0 ? [value] : []));
}

function sum(page: MetricsPage, names: readonly string[]): number | undefined {
  const all = values(page, names);
  return all.length === 0 ? undefined : all.reduce((total, value) => total + value, 0);
}

function mean(page: MetricsPage, names: readonly string[]): number | undefined {
  const all = values(page, names);
  return all.length === 0 ? undefined : all.reduce((total, value) => total + value, 0) / all.length;
}

/** vLLM gives the size of its KV memory in the labels of an info series; before it is known, as "None". */
function blockTokens({ samples }: MetricsPage): number | undefined {
  let tokens = 0;
  for (const { labels } of samples.get(CACHE_CONFIG) ?? []) {
    const number = (label: string): number =>
      Number(new RegExp(`(?:^|,)${label}="(\\d{1,12})"`).exec(labels)?.[1] ?? 0);
    tokens += number("block_size") * number("num_gpu_blocks");
  }
  return tokens === 0 ? undefined : tokens;
}
