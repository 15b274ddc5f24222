/**
 * From names and numbers to an engine that can exist, or an error that shows the arithmetic of why it cannot.
 */
import type { Clock } from "../clock/index.ts";
import { lookUp, ManxError } from "../core/index.ts";
import { ContinuousBatcher } from "./continuous-batcher.ts";
import {
  type AttentionKernel,
  type CostModel,
  RANKS_PER_HOST,
  RooflineCost,
} from "./cost-model.ts";
import {
  findGpu,
  findModel,
  type Gpu,
  kvBytesPerToken,
  type Model,
  weightBytes,
} from "./data-sheets.ts";
import { Engine } from "./engine.ts";
import type { Interference } from "./interference/index.ts";
import { ContiguousKv, type KvMemory, PagedKv } from "./kv-memory.ts";
import { refuseCrossHost } from "./parallel/cross-host.ts";
import { findLink, type LinkName } from "./parallel/links.ts";
import { PrefixKv } from "./prefix-kv.ts";
import { RadixKv } from "./radix-kv.ts";
import type { EngineSink, Scheduler } from "./scheduler.ts";
import {
  buildOrder,
  checkScheduling,
  SCHEDULING_DEFAULTS,
  type SchedulingLevers,
} from "./scheduling-levers.ts";
import {
  checkSpeculation,
  describeSpeculation,
  type Speculation,
} from "./speculation/speculation.ts";
import { SpeculativeScheduler, withDrafts } from "./speculation/speculative-scheduler.ts";
import { StaticBatcher } from "./static-batcher.ts";

export interface EngineConfig extends SchedulingLevers {
  readonly model: string;
  readonly gpu: string;
  /** GPUs that share each layer (tensor parallelism). */
  readonly ranks: number;
  readonly ranksPerHost: number;
  /** Between hosts. */
  readonly link: LinkName;
  /** Ranks on several hosts are refused without this: they cost every token what `crossHostLoss` says. */
  readonly allowCrossHost: boolean;
  readonly attention: AttentionKernel;
  readonly scheduling: "static" | "continuous" | "chunked";
  readonly memory: "contiguous" | "paged" | "prefix" | "radix";
  /** Longest prompt plus output that is accepted; contiguous memory sets this much aside for each request. */
  readonly contextMax: number;
  readonly blockTokens: number;
  /** Prefix memory: tokens of a prompt that one of its names stands for; a multiple of the block. */
  readonly pieceTokens: number;
  readonly sequencesMax: number;
  readonly tokensMax: number;
  readonly fillWaitUs: number;
  /** Share of GPU memory that the engine may use. */
  readonly memoryShare: number;
  /** Speculative decoding; none by default. */
  readonly speculation?: Speculation;
}

export const ENGINE_DEFAULTS: EngineConfig = {
  model: "llama-3.1-8b",
  gpu: "h100-sxm",
  ranks: 1,
  ranksPerHost: RANKS_PER_HOST,
  link: "infiniband-400g",
  allowCrossHost: false,
  attention: "split-kv",
  scheduling: "chunked",
  memory: "paged",
  contextMax: 16_384,
  blockTokens: 16,
  pieceTokens: 512,
  sequencesMax: 256,
  tokensMax: 2_048,
  fillWaitUs: 0,
  memoryShare: 0.9,
  ...SCHEDULING_DEFAULTS,
};

/** Runtime, activations and communication buffers per GPU beside weights and KV (AIConfigurator: 3.5 GiB). */
const OTHER_BYTES = 3.5 * 2 ** 30;
const GIB = 2 ** 30;

/**
 * Tokens of KV that fit beside the weights.
 *
 * @param draftShare weights of a draft model, as a share of the model's own.
 * @throws MANX_CONFIG_IMPOSSIBLE with the sum, if none do.
 */
export function kvTokens(
  gpu: Gpu,
  model: Model,
  ranks: number,
  memoryShare: number,
  draftShare = 0,
): number {
  const usable = gpu.memoryBytes * memoryShare * ranks;
  const weights = weightBytes(model) * (1 + draftShare);
  const free = usable - weights - OTHER_BYTES * ranks;
  const tokens = Math.floor(free / kvBytesPerToken(model));
  if (tokens > 0) return tokens;
  const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: `${model.name} does not fit into ${ranks} × ${gpu.name}`,
    expected: `weights ${gib(weights)} + other ${gib(OTHER_BYTES * ranks)} below ${gib(usable)}`,
    got: `${gib(-free)} too much (${gib(gpu.memoryBytes * ranks)} × ${memoryShare} usable)`,
    hint: "take more ranks, a larger GPU or a smaller model",
  });
}

/** A config whose every number is possible. @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function checkConfig(config: EngineConfig): { gpu: Gpu; model: Model; kvTokens: number } {
  const gpu = findGpu(config.gpu);
  const model = findModel(config.model);
  const atLeastOne = [
    "ranks",
    "ranksPerHost",
    "contextMax",
    "blockTokens",
    "pieceTokens",
    "sequencesMax",
    "tokensMax",
  ] as const;
  for (const name of atLeastOne)
    refuseUnless(
      Number.isInteger(config[name]) && config[name] >= 1,
      config,
      name,
      "a whole number from 1",
    );
  checkScheduling(config, config.scheduling);
  refuseUnless(config.fillWaitUs >= 0, config, "fillWaitUs", "a time from 0");
  refuseUnless(
    config.memoryShare > 0 && config.memoryShare <= 1,
    config,
    "memoryShare",
    "above 0 and at most 1",
  );
  refuseUnless(
    model.kvHeads % config.ranks === 0 || config.ranks % model.kvHeads === 0,
    config,
    "ranks",
    `a divisor or multiple of ${model.kvHeads} KV heads`,
  );
  refuseUnless(
    config.attention === "split-kv" || config.attention === "per-head",
    config,
    "attention",
    "split-kv or per-head",
  );
  refuseCrossHost(config);
  refuseUnless(
    config.memory !== "prefix" || config.pieceTokens % config.blockTokens === 0,
    config,
    "pieceTokens",
    `a multiple of the block's ${config.blockTokens} tokens`,
  );
  refuseUnless(
    config.contextMax <= model.contextMax,
    config,
    "contextMax",
    `at most ${model.name}'s ${model.contextMax} tokens`,
  );
  const { speculation } = config;
  if (speculation !== undefined) checkSpeculation(speculation);
  refuseUnless(
    speculation === undefined || config.scheduling !== "static",
    config,
    "scheduling",
    "continuous or chunked with speculation: a static batch has no place for answers of several tokens",
  );
  const draftShare = speculation?.draftShare ?? 0;
  const tokens = kvTokens(gpu, model, config.ranks, config.memoryShare, draftShare);
  return { gpu, model, kvTokens: tokens };
}

function refuseUnless(
  ok: boolean,
  config: EngineConfig,
  name: keyof EngineConfig,
  expected: string,
): void {
  if (ok) return;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    where: name,
    expected: `${name}: ${expected}`,
    got: String(config[name]),
  });
}

const MEMORIES: Readonly<
  Record<EngineConfig["memory"], (tokens: number, config: EngineConfig) => KvMemory>
> = {
  contiguous: (tokens, config) => new ContiguousKv(tokens, config.contextMax),
  paged: (tokens, config) => new PagedKv(tokens, config.blockTokens),
  prefix: (tokens, config) => new PrefixKv(tokens, config.blockTokens, config.pieceTokens),
  radix: (tokens, config) => new RadixKv(tokens, config.pieceTokens),
};

const SCHEDULERS: Readonly<
  Record<EngineConfig["scheduling"], (kv: KvMemory, config: EngineConfig) => Scheduler>
> = {
  static: (kv, config) => new StaticBatcher(kv, { ...config, order: buildOrder(config, kv) }),
  continuous: (kv, config) =>
    new ContinuousBatcher(kv, { ...config, order: buildOrder(config, kv), prompts: "whole" }),
  chunked: (kv, config) =>
    new ContinuousBatcher(kv, { ...config, order: buildOrder(config, kv), prompts: "chunked" }),
};

/** Prices from the config's data sheets. @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function rooflineOf(config: EngineConfig): CostModel {
  const { gpu, model } = checkConfig(config);
  const { ranks, ranksPerHost, attention } = config;
  const link = findLink(config.link);
  return new RooflineCost(gpu, model, ranks, { ranksPerHost, link, attention });
}

/** For a report: each lever as one plain value. */
export function describeConfig(config: EngineConfig): Record<string, string | number | boolean> {
  const { speculation, ...plain } = config;
  return { ...plain, speculation: speculation ? describeSpeculation(speculation) : "off" };
}

/** Whether a prompt can take over what an earlier one has computed. */
export function keepsPrefixes({ memory }: Pick<EngineConfig, "memory">): boolean {
  return memory === "prefix" || memory === "radix";
}

export interface BuildOptions {
  readonly clock: Clock;
  readonly sink: EngineSink;
  /** In place of the roofline. */
  readonly cost?: CostModel;
  readonly checked?: boolean;
  readonly readyUs?: number;
  readonly interference?: Interference;
  readonly lagLimitUs?: number;
  readonly afterStep?: () => void;
  /** Puts another memory round the config's. */
  readonly wrapKv?: (kv: KvMemory) => KvMemory;
}

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function buildEngine(config: EngineConfig, options: BuildOptions): Engine {
  const { kvTokens: tokens } = checkConfig(config);
  const kv = lookUp(MEMORIES, config.memory, "KV memory")(tokens, config);
  if (kv.totalTokens === 0) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "contextMax",
      expected: `a reservation of at most the ${tokens} tokens that fit`,
      got: `${config.contextMax}`,
    });
  }
  const wrapped = options.wrapKv?.(kv) ?? kv;
  const scheduler = lookUp(SCHEDULERS, config.scheduling, "scheduling")(wrapped, config);
  const cost = options.cost ?? rooflineOf(config);
  const { speculation } = config;
  return new Engine({
    clock: options.clock,
    sink: options.sink,
    ...(speculation === undefined
      ? { scheduler, cost }
      : {
          scheduler: new SpeculativeScheduler(scheduler, cost, speculation, config.tokensMax),
          cost: withDrafts(cost),
        }),
    contextMax: config.contextMax,
    ...(options.checked !== undefined && { checked: options.checked }),
    ...(options.readyUs !== undefined && { readyUs: options.readyUs }),
    ...(options.interference !== undefined && { interference: options.interference }),
    ...(options.lagLimitUs !== undefined && { lagLimitUs: options.lagLimitUs }),
    ...(options.afterStep !== undefined && { afterStep: options.afterStep }),
  });
}
