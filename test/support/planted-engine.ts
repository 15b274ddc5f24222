/**
 * A server whose prices are known: what the twin says under coefficients that a fit is not told, as a log of requests and as
 * pages of vLLM's metrics.
 */
import { Random } from "../../src/clock/index.ts";
import {
  ENGINE_DEFAULTS,
  type EngineConfig,
  type FittedCoefficients,
  FittedCost,
} from "../../src/engine/index.ts";
import { LogReplay } from "../../src/explain/fit/log-replay.ts";
import type { LoggedRequest } from "../../src/explain/fit/request-log.ts";

/** Twice to four times as slow as the H100 that fits start from, and otherwise composed. */
export const TRUTH: FittedCoefficients = {
  stepUs: 12_000,
  freeTokens: 128,
  tokenUs: 75,
  prefillSequenceUs: 300,
  prefillPairUs: 0.002,
  prefillContextTokenUs: 0.1,
  decodeSequenceUs: 60,
  decodeContextTokenUs: 0.12,
};
export const TRUE_REQUEST_US = 6_000;
export const PLANTED_CONFIG: EngineConfig = { ...ENGINE_DEFAULTS, ahead: true, admission: "step" };

export interface PlantedWorkload {
  readonly n: number;
  readonly perS: number;
  readonly seed: number;
  readonly promptTokens?: number;
  readonly outputTokens?: number;
}

/** Requests without times. */
export function plantedArrivals(workload: PlantedWorkload): LoggedRequest[] {
  const { n, perS, seed, promptTokens, outputTokens } = workload;
  const random = new Random(seed, "arrivals");
  const length = (mean: number, spread: number, most: number): number =>
    Math.max(1, Math.min(most, Math.round(mean * Math.exp(spread * random.normal()))));
  let atUs = 0;
  return Array.from({ length: n }, (_, i) => {
    atUs += i === 0 ? 0 : Math.round(random.exponential(1e6 / perS));
    return {
      row: i + 1,
      atUs,
      promptTokens: promptTokens ?? length(400, 1.2, 6_000),
      outputTokens: outputTokens ?? length(60, 0.8, 400),
      ttftUs: 1,
      e2eUs: 1,
    };
  });
}

/** @param noise of each time, as the standard deviation of its logarithm. */
export function plantedLog(
  workload: PlantedWorkload,
  noise: number,
  withGaps = false,
): LoggedRequest[] {
  const bare = plantedArrivals(workload);
  const requests = withGaps ? bare.map((one) => ({ ...one, gapsUs: [] })) : bare;
  const twin = new LogReplay(requests, PLANTED_CONFIG).runPriced(
    new FittedCost(TRUTH),
    TRUE_REQUEST_US,
  );
  const random = new Random(workload.seed, "noise");
  const jitter = (us: number): number => us * Math.exp(noise * random.normal());
  return requests.map((request, i) => {
    const ttftUs = Math.round(jitter(twin.ttftUs[i]!));
    const gapsUs = twin.gapsUs.get(i)?.map((us) => Math.round(jitter(us)));
    const answerUs =
      gapsUs?.reduce((sum, us) => sum + us, 0) ??
      Math.round(jitter(twin.e2eUs[i]! - twin.ttftUs[i]!));
    return {
      ...request,
      ttftUs,
      e2eUs: ttftUs + answerUs,
      ...(gapsUs !== undefined && { gapsUs }),
    };
  });
}

const TIME_ENDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80] as const;
const LENGTH_ENDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] as const;

/** What vLLM's /metrics would say after these requests. */
export function plantedPage(log: readonly LoggedRequest[]): string {
  const seconds = (us: number): number => us / 1e6;
  const gaps = log.flatMap(({ outputTokens, ttftUs, e2eUs }) =>
    Array<number>(outputTokens - 1).fill(seconds((e2eUs - ttftUs) / (outputTokens - 1))),
  );
  const total = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0);
  const prompts = log.map(({ promptTokens }) => promptTokens);
  const outputs = log.map(({ outputTokens }) => outputTokens);
  return [
    "# HELP vllm:num_requests_running Requests in the batch",
    'vllm:num_requests_running{engine="0"} 3',
    'vllm:num_requests_waiting{engine="0"} 0',
    'vllm:kv_cache_usage_perc{engine="0"} 0.25',
    'vllm:cache_config_info{block_size="16",num_gpu_blocks="20000"} 1',
    `vllm:prompt_tokens_total{engine="0"} ${total(prompts)}`,
    `vllm:generation_tokens_total{engine="0"} ${total(outputs)}`,
    histogram(
      "vllm:time_to_first_token_seconds",
      log.map((one) => seconds(one.ttftUs)),
      TIME_ENDS,
    ),
    histogram("vllm:inter_token_latency_seconds", gaps, TIME_ENDS),
    histogram(
      "vllm:e2e_request_latency_seconds",
      log.map((one) => seconds(one.e2eUs)),
      TIME_ENDS,
    ),
    histogram("vllm:request_prompt_tokens", prompts, LENGTH_ENDS),
    histogram("vllm:request_generation_tokens", outputs, LENGTH_ENDS),
    "",
  ].join("\n");
}

function histogram(name: string, values: readonly number[], ends: readonly number[]): string {
  const upTo = (end: number): number => values.filter((one) => one <= end).length;
  return [
    `# TYPE ${name} histogram`,
    ...ends.map((end) => `${name}_bucket{engine="0",le="${end}"} ${upTo(end)}`),
    `${name}_bucket{engine="0",le="+Inf"} ${values.length}`,
    `${name}_sum{engine="0"} ${values.reduce((sum, one) => sum + one, 0)}`,
    `${name}_count{engine="0"} ${values.length}`,
  ].join("\n");
}
