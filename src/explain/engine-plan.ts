/**
 * Which engine configuration carries a workload within its limits on the fewest GPUs, found by replaying the workload on
 * the twin. The search is small and says what it looked at: for each degree of tensor parallelism the fewest replicas
 * that meet the limits; then, at that number of GPUs and one engine less, the levers that trade TTFT for ITL: the budget of a
 * step, whole prompts, another prefix memory, prefill and decode apart. Deterministic.
 */
import { isManxError, ManxError } from "../core/index.ts";
import {
  Batch,
  checkConfig,
  costOf,
  ENGINE_DEFAULTS,
  type EngineConfig,
  findGpu,
  keepsPrefixes,
  type Pools,
} from "../engine/index.ts";
import { type ReplayOptions, replay, type WorkRequest } from "../load/index.ts";
import { ROUTER_REPLICAS_MAX, type RouterName } from "../policy/index.ts";
import {
  describePlan,
  inPercent,
  leverOf,
  type PlanCandidate,
  type PlanLimits,
  strainOf,
  whyNot,
} from "./plan-candidate.ts";

export interface PlanOptions {
  readonly model: string;
  readonly gpu: string;
  readonly requests: readonly WorkRequest[];
  readonly workload: string;
  readonly limits: PlanLimits;
  /** Most GPUs that may be used, all engines together. */
  readonly gpusMax: number;
  /** Longest prompt plus output that must be accepted. */
  readonly contextMax: number;
  /** Of every engine, in place of defaults: a fitted cost, and what else is known of the engine that it was fitted to. */
  readonly engine?: Partial<EngineConfig>;
  /** Degrees of tensor parallelism to look at; a fitted cost holds for one. Default 1, 2, 4, 8. */
  readonly ranks?: readonly number[];
  /** Waited for before each replay, so that a long search can be watched and interrupted. */
  readonly onStep?: (text: string, looked: number) => Promise<void> | void;
}

export interface LosingLever {
  /** In a phrase: "fewer GPUs", "whole prompts", "radix memory". */
  readonly lever: string;
  /** The best with it. */
  readonly candidate: PlanCandidate;
  readonly why: string;
}

export interface EnginePlan {
  /** Best first: those that meet the limits by GPUs, then by strain; if none does, by strain alone. */
  readonly candidates: readonly PlanCandidate[];
  readonly met: boolean;
  readonly looked: number;
  /** Why the recommendation is not another: the best of each kind that was looked at. */
  readonly losers: readonly LosingLever[];
  /** Degrees of parallelism that cannot exist, with the reason. */
  readonly impossible: readonly { readonly ranks: number; readonly why: string }[];
}

const RANKS = [1, 2, 4, 8] as const;
const TOKENS_MAX = [512, 1_024, 2_048, 4_096, 8_192] as const;
const DEFAULT_TOKENS_MAX = 2_048;
/** Splits of pools looked at for one number of engines: those next to the one that shares out the work evenly. */
const SPLITS_MAX = 2;
/** Answers in a step, for a first guess at the share of prefill. */
const TYPICAL_BATCH = 64;

/** @throws MANX_NAME_UNKNOWN, MANX_CONFIG_IMPOSSIBLE if no degree of parallelism can exist. */
export async function planEngine(options: PlanOptions): Promise<EnginePlan> {
  const search = new Search(options);
  const { bases, impossible } = search.possibleBases();
  for (const base of bases) await search.fewestReplicas(base);
  await search.tune();
  await search.split(bases);
  const candidates = search.ranking();
  const best = candidates[0]!;
  return {
    candidates,
    met: best.strain <= 1,
    looked: search.looked,
    losers: losersOf(candidates, options.limits),
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
    const { model, gpu, contextMax, gpusMax, engine, ranks: degrees = RANKS } = this.#options;
    const bases: EngineConfig[] = [];
    const impossible: { ranks: number; why: string }[] = [];
    let last: unknown;
    for (const ranks of degrees) {
      if (ranks > gpusMax) continue;
      const memory = this.#hasPrefixes() ? "prefix" : "paged";
      const names = { model, gpu, ranks, contextMax, memory } as const;
      const config: EngineConfig = { ...ENGINE_DEFAULTS, ...engine, ...names };
      try {
        const { kvTokens } = checkConfig(config);
        if (kvTokens >= contextMax) bases.push(config);
        else impossible.push({ ranks, why: `KV for ${kvTokens} tokens, ${contextMax} needed` });
      } catch (thrown) {
        if (!isManxError(thrown) || thrown.code !== "MANX_CONFIG_IMPOSSIBLE") throw thrown;
        last = thrown;
        impossible.push({ ranks, why: `${thrown.what}: ${thrown.got ?? ""}` });
      }
    }
    if (bases.length > 0) return { bases, impossible };
    if (last !== undefined) throw last;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: `no engine of up to ${gpusMax} GPUs holds a request of ${contextMax} tokens`,
      expected: `one of ${degrees.join(", ")} GPUs an engine`,
      got: impossible.map(({ ranks, why }) => `${ranks} GPU: ${why}`).join("; ") || "too few GPUs",
    });
  }

  /** Doubles until the limits are met, then halves the gap: the limits are met from some number of replicas on. */
  async fewestReplicas(base: EngineConfig): Promise<void> {
    const most = Math.floor(this.#options.gpusMax / base.ranks);
    let tooFew = 0;
    let enough = 1;
    while (enough <= most && !(await this.#meets(base, enough))) {
      tooFew = enough;
      if (enough === most) return;
      enough = Math.min(most, enough * 2);
    }
    while (enough - tooFew > 1) {
      const middle = Math.floor((tooFew + enough) / 2);
      if (await this.#meets(base, middle)) enough = middle;
      else tooFew = middle;
    }
  }

  /** At the best number of GPUs so far, and one engine less: other budgets, whole prompts, the other prefix memory. */
  async tune(): Promise<void> {
    const best = this.ranking()[0]!;
    for (const engines of new Set([best.engines, Math.max(1, best.engines - 1)])) {
      for (const tokensMax of TOKENS_MAX) {
        await this.#evaluate({ ...best.config, tokensMax }, engines);
      }
      await this.#evaluate(wholePrompts(best.config), engines);
    }
    if (!this.#hasPrefixes()) return;
    const { config, engines } = this.ranking()[0]!;
    await this.#evaluate({ ...config, memory: "radix" }, engines);
  }

  /** The GPUs of the best, and one engine less, as two pools; where nothing meets the limits, as many as may be used. */
  async split(bases: readonly EngineConfig[]): Promise<void> {
    const best = this.ranking()[0]!;
    const gpus = best.strain <= 1 ? best.gpus : this.#options.gpusMax;
    for (const { ranks } of bases) {
      const most = Math.floor(gpus / ranks);
      await this.#splitInto({ ...this.#chunked(best.config), ranks }, most);
    }
  }

  async #splitInto(config: EngineConfig, most: number): Promise<void> {
    for (const engines of [most, most - 1]) {
      if (engines < 2) continue;
      for (const prefill of this.#splits(config, engines)) {
        const pools: Pools = { prefill, decode: engines - prefill, link: linkOf(config, engines) };
        await this.#evaluate(config, engines, pools);
      }
    }
  }

  ranking(): PlanCandidate[] {
    const all = [...this.#seen.values()];
    const anyMeets = all.some(({ strain }) => strain <= 1);
    return all.sort((a, b) => {
      const aMeets = a.strain <= 1;
      if (anyMeets && aMeets !== b.strain <= 1) return aMeets ? -1 : 1;
      if (anyMeets && aMeets && a.gpus !== b.gpus) return a.gpus - b.gpus;
      // What is as near to its limits keeps its order: the plainer one was looked at first. Two that refuse requests are
      // infinitely strained, and their difference is not a number.
      const [aPercent, bPercent] = [inPercent(a), inPercent(b)];
      return aPercent === bPercent ? a.gpus - b.gpus : aPercent - bPercent;
    });
  }

  /** Pools are for those whom prompts disturb; what whole prompts do there, chunks do better. */
  #chunked(config: EngineConfig): EngineConfig {
    if (config.scheduling === "chunked") return config;
    const { ahead, admission } = { ...ENGINE_DEFAULTS, ...this.#options.engine };
    const tokensMax = DEFAULT_TOKENS_MAX;
    return { ...config, scheduling: "chunked", tokensMax, ahead, admission };
  }

  #hasPrefixes(): boolean {
    return this.#options.requests.some(({ blockHashes }) => blockHashes !== undefined);
  }

  /** Prefill engines next to the share that prefill has of all time in steps, as the best so far has it. */
  #splits(config: EngineConfig, engines: number): number[] {
    const { requests } = this.#options;
    const prompts = requests.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
    const outputs = requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
    const even = engines * prefillShare(config, prompts, outputs);
    const all = Array.from({ length: engines - 1 }, (_, i) => i + 1);
    const byDistance = all.sort((a, b) => Math.abs(a - even) - Math.abs(b - even) || a - b);
    return byDistance.slice(0, SPLITS_MAX).sort((a, b) => a - b);
  }

  async #meets(base: EngineConfig, replicas: number): Promise<boolean> {
    const config = { ...base, tokensMax: DEFAULT_TOKENS_MAX };
    return (await this.#evaluate(config, replicas)).strain <= 1;
  }

  async #evaluate(config: EngineConfig, engines: number, pools?: Pools): Promise<PlanCandidate> {
    const routing = routingFor(config, pools?.prefill ?? engines);
    const { cost: _, ...plain } = config;
    const key = JSON.stringify([plain, engines, pools]);
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    const name = describePlan(config, engines, pools);
    await this.#options.onStep?.(name, this.#seen.size);
    const replayOptions: ReplayOptions = {
      name,
      requests: this.#options.requests,
      workload: this.#options.workload,
      arrivals: "replay of the trace's own times",
      config,
      routing,
      seed: null,
      ...(pools === undefined ? { replicas: engines } : { pools }),
    };
    const done = replay(replayOptions);
    const candidate: PlanCandidate = {
      config,
      engines,
      pools,
      routing,
      gpus: config.ranks * engines,
      replay: done,
      replayOptions,
      strain: strainOf(done, this.#options.limits),
    };
    this.#seen.set(key, candidate);
    return candidate;
  }
}

/** A step that is composed ahead, or lets in by pieces, has to be chunked. */
function wholePrompts(config: EngineConfig): EngineConfig {
  return {
    ...config,
    scheduling: "continuous",
    tokensMax: 8_192,
    ahead: false,
    admission: "known",
  };
}

/** Those that look for prefixes keep a bit for each replica, so the largest fleets have to do without. */
function routingFor(config: EngineConfig, entries: number): RouterName {
  if (entries === 1) return "round-robin";
  const best = keepsPrefixes(config) ? (["prefix", "balanced"] as const) : [];
  return best.find((name) => entries <= ROUTER_REPLICAS_MAX[name]) ?? "least-load";
}

/** Between pools in one host NVLink, if the GPU has it. */
function linkOf({ gpu, ranks, ranksPerHost, link }: EngineConfig, engines: number): Pools["link"] {
  const isOneHost = ranks * engines <= ranksPerHost;
  return isOneHost && findGpu(gpu).nvlinkBytesPerS > 0 ? "nvlink" : link;
}

/** Roughly: what full steps of prompts take, against steps of a batch of answers. */
function prefillShare(config: EngineConfig, prompts: number, outputs: number): number {
  const cost = costOf(config);
  const prompt = new Batch();
  prompt.countPrefill(DEFAULT_TOKENS_MAX, 0);
  const answers = new Batch();
  for (let i = 0; i < TYPICAL_BATCH; i += 1) answers.countDecode(DEFAULT_TOKENS_MAX);
  const prefillUs = (cost.stepUs(prompt) / DEFAULT_TOKENS_MAX) * prompts;
  const decodeUs = (cost.stepUs(answers) / TYPICAL_BATCH) * outputs;
  return prefillUs / (prefillUs + decodeUs);
}

function losersOf(candidates: readonly PlanCandidate[], limits: PlanLimits): LosingLever[] {
  const [best, ...others] = candidates;
  const found = new Map<string, PlanCandidate>();
  for (const candidate of others) {
    const lever = leverOf(candidate, best!);
    if (!found.has(lever)) found.set(lever, candidate);
  }
  return [...found].map(([lever, candidate]) => {
    return { lever, candidate, why: whyNot(candidate, best!, limits) };
  });
}
