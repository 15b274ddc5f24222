/** A candidate in the flags of the engine that it is the twin of: vLLM's, or SGLang's for a radix tree. */
import type { EngineConfig } from "../engine/index.ts";
import type { PlanCandidate } from "./plan-candidate.ts";

export function engineFlags({ config, pools }: PlanCandidate): string {
  const flags = config.memory === "radix" ? sglangFlags(config) : vllmFlags(config);
  if (pools === undefined) return flags;
  return `${flags}; ${pools.prefill} engines to prefill and ${pools.decode} to decode, KV over ${pools.link}`;
}

function vllmFlags(config: EngineConfig): string {
  const isChunked = config.scheduling === "chunked";
  const tokensMax = Math.max(config.tokensMax, isChunked ? 0 : config.contextMax);
  return [
    `vllm serve --tensor-parallel-size ${config.ranks}`,
    `--max-num-batched-tokens ${tokensMax}`,
    `--max-num-seqs ${config.sequencesMax}`,
    `--max-model-len ${config.contextMax}`,
    isChunked ? "--enable-chunked-prefill" : "--no-enable-chunked-prefill",
    config.memory === "prefix" ? "--enable-prefix-caching" : "--no-enable-prefix-caching",
  ].join(" ");
}

function sglangFlags(config: EngineConfig): string {
  return [
    `python -m sglang.launch_server --tp ${config.ranks}`,
    `--chunked-prefill-size ${config.scheduling === "chunked" ? config.tokensMax : -1}`,
    `--max-running-requests ${config.sequencesMax}`,
    `--context-length ${config.contextMax}`,
  ].join(" ");
}
