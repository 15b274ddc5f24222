/**
 * Which engine configuration carries a workload within its limits on the fewest GPUs, found by replaying the workload on
 * the twin. The search is small and says what it looked at: for each degree of tensor parallelism the fewest replicas
 * that meet the limits, then, at that number of GPUs, the levers that trade TTFT for ITL.
 */
import { isManxError, ManxError } from "../core/index.ts";
import { checkConfig, ENGINE_DEFAULTS, type EngineConfig, keepsPrefixes } from "../engine/index.ts";
import { type Replay, type ReplayOptions, replay, type WorkRequest } from "../load/index.ts";
import type { RouterName } from "../policy/index.ts";
import { histogramQuantile } from "../stats/index.ts";

/** Limits of p99. At least one is set. */
export interface PlanLimits {
  readonly ttftUs?: number;
  readonly itlUs?: number;
  readonly e2eUs?: number;
}

export interface PlanOptions {
  readonly model: string;
  readonly gpu: string;
  readonly requests: readonly WorkRequest[];
  readonly workload: string;
  readonly limits: PlanLimits;
  /** Most GPUs that may be used, all replicas together. */
  readonly gpusMax: number;
  /** Longest prompt plus output that must be accepted. */
  readonly contextMax: number;
  readonly onStep?: (text: string) => void;
}

export interface PlanCandidate {
  readonly config: EngineConfig;
  readonly replicas: number;
  readonly routing: RouterName;
  readonly gpus: number;
  readonly replay: Replay;
  readonly replayOptions: ReplayOptions;
  /** Largest p99 as a share of its limit: 1 or less meets them all. */
  readonly strain: number;
}

export interface EnginePlan {
  /** Best first: those that meet the limits by GPUs, then by strain; if none does, by strain alone. */
  readonly candidates: readonly PlanCandidate[];
  readonly met: boolean;
  readonly looked: number;
  /** Degrees of parallelism that cannot exist, with the reason. */
  readonly impossible: readonly { readonly ranks: number; readonly why: string }[];
}

const RANKS = [1, 2, 4, 8] as const;
const TOKENS_MAX = [512, 1_024, 2_048, 4_096, 8_192] as const;
const DEFAULT_TOKENS_MAX = 2_048;

/** @throws MANX_NAME_UNKNOWN, MANX_CONFIG_IMPOSSIBLE if no degree of parallelism can exist. */
export function planEngine(options: PlanOptions): EnginePlan {
  const search = new Search(options);
  const { bases, impossible } = search.possibleBases();
  for (const base of bases) search.fewestReplicas(base);
  search.tune();
  const candidates = search.ranking();
  return {
    candidates,
    met: (candidates[0]?.strain ?? Number.POSITIVE_INFINITY) <= 1,
    looked: search.looked,
    impossible,
  };
}

class Search {
  readonly #options: PlanOptions;
  readonly #seen = new Map<string, PlanCandidate>();

  constructor(options: PlanOptions) {
    this.#options = options;
  }

  get looked(): number {
    return this.#seen.size;
  }

  possibleBases(): { bases: EngineConfig[]; impossible: { ranks: number; why: string }[] } {
    const { model, gpu, contextMax, requests, gpusMax } = this.#options;
    const hasPrefixes = requests.some((request) => request.blockHashes !== undefined);
    const bases: EngineConfig[] = [];
    const impossible: { ranks: number; why: string }[] = [];
    let last: unknown;
    for (const ranks of RANKS) {
      if (ranks > gpusMax) break;
      const memory = hasPrefixes ? "prefix" : "paged";
      const config: EngineConfig = { ...ENGINE_DEFAULTS, model, gpu, ranks, contextMax, memory };
      try {
        const { kvTokens } = checkConfig(config);
        if (kvTokens >= contextMax) bases.push(config);
        else impossible.push({ ranks, why: `KV for ${kvTokens} tokens, ${contextMax} needed` });
      } catch (thrown) {
        if (!isManxError(thrown) || thrown.code !== "MANX_CONFIG_IMPOSSIBLE") throw thrown;
        last = thrown;
        impossible.push({ ranks, why: `${thrown.message}: ${thrown.got ?? ""}` });
      }
    }
    if (bases.length > 0) return { bases, impossible };
    if (last !== undefined) throw last;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: `no engine of up to ${gpusMax} GPUs holds a request of ${contextMax} tokens`,
      got: impossible.map(({ ranks, why }) => `${ranks} GPU: ${why}`).join("; "),
    });
  }

  /** Doubles until the limits are met, then halves the gap: the limits are met from some number of replicas on. */
  fewestReplicas(base: EngineConfig): void {
    const most = Math.floor(this.#options.gpusMax / base.ranks);
    let tooFew = 0;
    let enough = 1;
    while (enough <= most && !this.#meets(base, enough)) {
      tooFew = enough;
      if (enough === most) return;
      enough = Math.min(most, enough * 2);
    }
    while (enough - tooFew > 1) {
      const middle = Math.floor((tooFew + enough) / 2);
      if (this.#meets(base, middle)) enough = middle;
      else tooFew = middle;
    }
  }

  /** At the best number of GPUs so far, and one replica less: other budgets per step, and whole prompts. */
  tune(): void {
    const best = this.ranking()[0];
    if (best === undefined) return;
    for (const replicas of new Set([best.replicas, Math.max(1, best.replicas - 1)])) {
      for (const tokensMax of TOKENS_MAX) {
        this.#evaluate({ ...best.config, tokensMax }, replicas);
      }
      this.#evaluate({ ...best.config, scheduling: "continuous", tokensMax: 8_192 }, replicas);
    }
  }

  ranking(): PlanCandidate[] {
    const all = [...this.#seen.values()];
    const anyMeets = all.some(({ strain }) => strain <= 1);
    return all.sort((a, b) => {
      const aMeets = a.strain <= 1;
      if (anyMeets && aMeets !== b.strain <= 1) return aMeets ? -1 : 1;
      if (anyMeets && aMeets && a.gpus !== b.gpus) return a.gpus - b.gpus;
      return a.strain - b.strain;
    });
  }

  #meets(base: EngineConfig, replicas: number): boolean {
    return this.#evaluate({ ...base, tokensMax: DEFAULT_TOKENS_MAX }, replicas).strain <= 1;
  }

  #evaluate(config: EngineConfig, replicas: number): PlanCandidate {
    const routing = routingFor(config, replicas);
    const key = JSON.stringify([config, replicas, routing]);
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    const name = describePlan(config, replicas);
    this.#options.onStep?.(name);
    const replayOptions: ReplayOptions = {
      name,
      requests: this.#options.requests,
      workload: this.#options.workload,
      arrivals: "replay of the trace's own times",
      config,
      replicas,
      routing,
      seed: null,
    };
    const done = replay(replayOptions);
    const candidate: PlanCandidate = {
      config,
      replicas,
      routing,
      gpus: config.ranks * replicas,
      replay: done,
      replayOptions,
      strain: strainOf(done, this.#options.limits),
    };
    this.#seen.set(key, candidate);
    return candidate;
  }
}

function routingFor(config: EngineConfig, replicas: number): RouterName {
  if (replicas === 1) return "round-robin";
  return keepsPrefixes(config) ? "prefix" : "least-load";
}

/** `2 × (4 × h100-sxm), chunked 2048`. */
export function describePlan(config: EngineConfig, replicas: number): string {
  const group = config.ranks === 1 ? config.gpu : `(${config.ranks} × ${config.gpu})`;
  const step = config.scheduling === "chunked" ? `chunks in ${config.tokensMax}` : "whole prompts";
  return `${replicas} × ${group}, ${step}`;
}

function strainOf(done: Replay, limits: PlanLimits): number {
  if (done.finished < done.offered) return Number.POSITIVE_INFINITY;
  const shares = [
    limits.ttftUs === undefined ? 0 : p99(done, "ttftUs") / limits.ttftUs,
    limits.itlUs === undefined ? 0 : p99(done, "itlUs") / limits.itlUs,
    limits.e2eUs === undefined ? 0 : p99(done, "e2eUs") / limits.e2eUs,
  ];
  return Math.max(...shares);
}

function p99(done: Replay, metric: "ttftUs" | "itlUs" | "e2eUs"): number {
  const { value } = histogramQuantile(done.histograms[metric], 0.99);
  return Number.isNaN(value) ? 0 : value;
}

/** The flags that set up vLLM like a candidate. */
export function vllmFlags(candidate: PlanCandidate): string {
  const { config } = candidate;
  const flags = [
    `--tensor-parallel-size ${config.ranks}`,
    `--max-num-batched-tokens ${Math.max(config.tokensMax, config.scheduling === "chunked" ? 0 : config.contextMax)}`,
    `--max-num-seqs ${config.sequencesMax}`,
    `--max-model-len ${config.contextMax}`,
    config.scheduling === "chunked" ? "--enable-chunked-prefill" : "--no-enable-chunked-prefill",
    config.memory === "prefix" ? "--enable-prefix-caching" : "--no-enable-prefix-caching",
  ];
  return flags.join(" ");
}
