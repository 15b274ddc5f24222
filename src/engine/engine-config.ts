/**
 * All that can be set about an engine, as plain data: it can be written down as JSON, read back, and built from. What is
 * possible together is in `config-check.ts`; what each name stands for is looked up when the engine is built.
 */
import { type CostChoice, describeCost } from "./cost-choice.ts";
import type { AttentionKernel } from "./cost-model.ts";
import { RANKS_PER_HOST } from "./cost-model.ts";
import { describePools, type Pools } from "./disaggregated/pools.ts";
import type { LinkName } from "./parallel/links.ts";
import { SCHEDULING_DEFAULTS, type SchedulingLevers } from "./scheduling-levers.ts";
import { describeSpeculation, type Speculation } from "./speculation/speculation.ts";

/**
 * In groups:
 *
 * - what runs, and on what: `model`, `gpu`, `contextMax`
 * - parallelism: `ranks`, `ranksPerHost`, `link`, `allowCrossHost`
 * - prices of steps: `cost`, `attention`
 * - scheduling: `scheduling`, `sequencesMax`, `tokensMax`, `fillWaitUs`, `ahead`, `admission`, and who is next, what a step
 *   begins with, and caps (`SchedulingLevers`)
 * - KV memory: `memory`, `memoryShare`, `kvTokens`, `blockTokens`, `pieceTokens`
 * - when it runs out: `preemption`, `hostMemoryBytes`
 * - layers on top, off unless given: `speculation`, `pools`
 */
export interface EngineConfig extends SchedulingLevers {
  /** Of the model sheets (`MODEL_NAMES`). */
  readonly model: string;
  /** Of the data sheets (`GPU_NAMES`). */
  readonly gpu: string;
  /** Longest prompt plus output that is accepted; contiguous memory sets this much aside for each request. */
  readonly contextMax: number;

  /** GPUs that share each layer (tensor parallelism). */
  readonly ranks: number;
  /** Ranks beyond this are on further hosts. */
  readonly ranksPerHost: number;
  /** Between the hosts of one engine (`LINK_NAMES`); not used while all ranks are in one. */
  readonly link: LinkName;
  /** Ranks on several hosts are refused without this: they cost every token what `crossHostLoss` says. */
  readonly allowCrossHost: boolean;

  /** Where the price of a step comes from. */
  readonly cost: CostChoice;
  /** Roofline only: how answers read their KV. */
  readonly attention: AttentionKernel;

  readonly scheduling: "static" | "continuous" | "chunked";
  /** Most requests under way at a time. */
  readonly sequencesMax: number;
  /** Most tokens computed in a step. */
  readonly tokensMax: number;
  /** Static only: µs that the first in the queue waits for a fuller batch. */
  readonly fillWaitUs: number;
  /**
   * Chunked, decode-first and first-come only: each step is composed while the one before it runs, as vLLM does it by
   * default since 0.14 (`async_scheduling`). It hides the scheduler's own time and sees arrivals and ends a step later.
   */
  readonly ahead: boolean;
  /**
   * Chunked only: what a request takes as it enters, room for all that it has ("known") or for its first piece ("step",
   * vLLM's way). All of it has to fit at that moment either way.
   */
  readonly admission: "known" | "step";

  readonly memory: "contiguous" | "paged" | "prefix" | "radix";
  /** Share of GPU memory that the engine may use. */
  readonly memoryShare: number;
  /** Size of the KV memory where a real engine has told it, in place of what the data sheets leave for it. */
  readonly kvTokens?: number;
  /** Paged and prefix memory: tokens of a block. */
  readonly blockTokens: number;
  /** Prefix and radix memory: tokens of a prompt that one of its names stands for; in prefix memory a multiple of the block. */
  readonly pieceTokens: number;

  /**
   * What becomes of the KV of one that is thrown out: computed again when it is back, or moved to host memory and back
   * over PCIe. Not with static scheduling, which throws nobody out.
   */
  readonly preemption: "recompute" | "swap";
  /** Swap only: bytes of host memory for it, all ranks together. Who finds it full is computed again instead. */
  readonly hostMemoryBytes: number;

  /** Speculative decoding; none by default. */
  readonly speculation?: Speculation;
  /** Prefill and decode on engines of their own, all of this config; one engine for both by default. See `buildTwin`. */
  readonly pools?: Pools;
}

export const ENGINE_DEFAULTS: EngineConfig = {
  model: "llama-3.1-8b",
  gpu: "h100-sxm",
  contextMax: 16_384,
  ranks: 1,
  ranksPerHost: RANKS_PER_HOST,
  link: "infiniband-400g",
  allowCrossHost: false,
  cost: { kind: "roofline" },
  attention: "split-kv",
  scheduling: "chunked",
  sequencesMax: 256,
  tokensMax: 2_048,
  fillWaitUs: 0,
  ahead: false,
  admission: "known",
  memory: "paged",
  memoryShare: 0.9,
  blockTokens: 16,
  pieceTokens: 512,
  preemption: "recompute",
  // vLLM's `swap_space` has the same default, for each GPU.
  hostMemoryBytes: 4 * 2 ** 30,
  ...SCHEDULING_DEFAULTS,
};

/** For a report: each lever as one plain value. */
export function describeConfig(config: EngineConfig): Record<string, string | number | boolean> {
  const { cost, speculation, pools, ...plain } = config;
  return {
    ...plain,
    cost: describeCost(cost),
    speculation: speculation === undefined ? "off" : describeSpeculation(speculation),
    pools: pools === undefined ? "off" : describePools(pools),
  };
}

/** Whether a prompt can take over what an earlier one has computed. */
export function keepsPrefixes({ memory }: Pick<EngineConfig, "memory">): boolean {
  return memory === "prefix" || memory === "radix";
}
