/** One configuration that a plan has looked at: what it is, how it did, and why another is better. */
import { formatUs } from "../core/index.ts";
import { type EngineConfig, keepsPrefixes, type Pools } from "../engine/index.ts";
import type { Replay, ReplayOptions } from "../load/index.ts";
import type { RouterName } from "../policy/index.ts";
import { histogramQuantile } from "../stats/index.ts";

/** Limits of p99. At least one is set. */
export interface PlanLimits {
  readonly ttftUs?: number;
  readonly itlUs?: number;
  readonly e2eUs?: number;
}

export interface PlanCandidate {
  readonly config: EngineConfig;
  /** Engines in all: replicas, or those of both pools. */
  readonly engines: number;
  readonly pools: Pools | undefined;
  readonly routing: RouterName;
  readonly gpus: number;
  readonly replay: Replay;
  readonly replayOptions: ReplayOptions;
  /** Largest p99 as a share of its limit: 1 or less meets them all. */
  readonly strain: number;
}

const METRICS = [
  ["ttftUs", "TTFT"],
  ["itlUs", "ITL"],
  ["e2eUs", "E2E"],
] as const;

export function strainOf(done: Replay, limits: PlanLimits): number {
  if (done.finished < done.offered) return Number.POSITIVE_INFINITY;
  return Math.max(...METRICS.map(([metric]) => shareOf(done, limits, metric)));
}

function shareOf(done: Replay, limits: PlanLimits, metric: keyof PlanLimits): number {
  const limit = limits[metric];
  return limit === undefined ? 0 : p99(done, metric) / limit;
}

function p99(done: Replay, metric: keyof PlanLimits): number {
  const { value } = histogramQuantile(done.histograms[metric], 0.99);
  return Number.isNaN(value) ? 0 : value;
}

/** `2 × (4 × h100-sxm), chunks in 2048`: whole, for the name of a run. */
export function describePlan(config: EngineConfig, engines: number, pools?: Pools): string {
  const group = config.ranks === 1 ? config.gpu : `(${config.ranks} × ${config.gpu})`;
  const step = config.scheduling === "chunked" ? `chunks in ${config.tokensMax}` : "whole prompts";
  const memory = keepsPrefixes(config) ? `, ${config.memory} memory` : "";
  const split =
    pools === undefined
      ? ""
      : `, ${pools.prefill} prefill + ${pools.decode} decode over ${pools.link}`;
  return `${engines} × ${group}${split}, ${step}${memory}`;
}

/** `2 × TP4, 2048`: short, for the head of a column. The GPU is the same in all of them. */
export function planHead({ config, engines, pools }: PlanCandidate): string {
  const one = config.ranks === 1 ? "1 GPU" : `TP${config.ranks}`;
  const many = one.replace("1 ", "");
  const count = pools === undefined ? String(engines) : `${pools.prefill}p+${pools.decode}d`;
  const fleet = engines === 1 ? one : `${count} × ${many}`;
  const step = config.scheduling === "chunked" ? `chunk ${config.tokensMax}` : "whole";
  const memory = config.memory === "radix" ? ", radix" : "";
  return `${fleet}, ${step}${memory}`;
}

/** Why `other` is not the recommendation, with the figure that decides. */
export function whyNot(other: PlanCandidate, best: PlanCandidate, limits: PlanLimits): string {
  const { replay, gpus, strain } = other;
  const unserved = replay.offered - replay.finished;
  if (unserved > 0) return `refuses ${unserved} of ${replay.offered} requests`;
  const worst = METRICS.reduce((a, b) =>
    shareOf(replay, limits, b[0]) > shareOf(replay, limits, a[0]) ? b : a,
  );
  const [metric, name] = worst;
  const figure = `${name} p99 ${formatUs(p99(replay, metric))}`;
  const { n } = replay.histograms[metric];
  if (strain > 1) return `${figure} is ${strain.toFixed(2)} × its limit (n ${n})`;
  if (gpus > best.gpus) return `meets the limits on ${gpus} GPUs instead of ${best.gpus}`;
  const [ours, theirs] = [inPercent(best), inPercent(other)];
  return ours === theirs
    ? `as many GPUs and as near to a limit: ${figure} is ${theirs} % of it (n ${n})`
    : `as many GPUs, but nearer to a limit: ${figure} is ${theirs} % of it, not ${ours} % (n ${n})`;
}

/** As it is compared: less than a percent of a limit is no difference. */
export function inPercent({ strain }: PlanCandidate): number {
  return Math.round(100 * strain);
}

/** The one difference from the recommendation that stands out most. */
export function leverOf(other: PlanCandidate, best: PlanCandidate): string {
  const { config, pools, gpus } = other;
  if ((pools === undefined) !== (best.pools === undefined)) {
    return pools === undefined ? "prefill and decode together" : "prefill and decode apart";
  }
  if (config.ranks !== best.config.ranks) return "another tensor parallelism";
  if (gpus < best.gpus) return "fewer GPUs";
  if (pools !== undefined && pools.prefill !== best.pools?.prefill) return "another split";
  if (config.memory !== best.config.memory) return `${config.memory} memory`;
  if (config.scheduling === best.config.scheduling) return "another step budget";
  return config.scheduling === "chunked" ? "chunked prefill" : "whole prompts";
}
