/** From a config to an engine: what each of its names stands for. */
import type { Clock } from "../clock/index.ts";
import { lookUp, ManxError } from "../core/index.ts";
import { checkConfig } from "./config-check.ts";
import { ContinuousBatcher } from "./continuous-batcher.ts";
import { costOf } from "./cost-choice.ts";
import type { CostModel } from "./cost-model.ts";
import { kvBytesPerToken, type Model } from "./data-sheets.ts";
import { describePools } from "./disaggregated/pools.ts";
import { Engine } from "./engine.ts";
import type { EngineConfig } from "./engine-config.ts";
import type { Interference } from "./interference/index.ts";
import { ContiguousKv, type KvMemory, PagedKv } from "./kv-memory.ts";
import { PrefixKv } from "./prefix-kv.ts";
import { RadixKv } from "./radix-kv.ts";
import type { EngineSink, Scheduler } from "./scheduler.ts";
import { buildOrder } from "./scheduling-levers.ts";
import { SpeculativeScheduler, withDrafts } from "./speculation/speculative-scheduler.ts";
import { StaticBatcher } from "./static-batcher.ts";
import { HostPool } from "./swap/host-pool.ts";
import { withSwaps } from "./swap/swap-cost.ts";

const MEMORIES: Readonly<
  Record<EngineConfig["memory"], (tokens: number, config: EngineConfig) => KvMemory>
> = {
  contiguous: (tokens, config) => new ContiguousKv(tokens, config.contextMax),
  paged: (tokens, config) => new PagedKv(tokens, config.blockTokens),
  prefix: (tokens, config) => new PrefixKv(tokens, config.blockTokens, config.pieceTokens),
  radix: (tokens, config) => new RadixKv(tokens, config.pieceTokens),
};

const SCHEDULERS: Readonly<
  Record<
    EngineConfig["scheduling"],
    (kv: KvMemory, config: EngineConfig, host: HostPool | undefined) => Scheduler
  >
> = {
  static: (kv, config) => new StaticBatcher(kv, { ...config, order: buildOrder(config, kv) }),
  continuous: (kv, config, host) =>
    new ContinuousBatcher(kv, { ...config, order: buildOrder(config, kv), prompts: "whole", host }),
  chunked: (kv, config, host) =>
    new ContinuousBatcher(kv, {
      ...config,
      order: buildOrder(config, kv),
      prompts: "chunked",
      host,
    }),
};

export interface BuildOptions {
  readonly clock: Clock;
  readonly sink: EngineSink;
  /** In place of the one that the config names; one object can serve any number of engines. */
  readonly cost?: CostModel;
  readonly checked?: boolean;
  readonly readyUs?: number;
  readonly interference?: Interference;
  readonly lagLimitUs?: number;
  readonly afterStep?: () => void;
  /** Puts another memory round the config's. */
  readonly wrapKv?: (kv: KvMemory) => KvMemory;
}

/**
 * One engine. Pools are several: `buildServing` makes those.
 *
 * @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN, MANX_TABLE_FORMAT
 */
export function buildEngine(config: EngineConfig, options: BuildOptions): Engine {
  const { gpu, model, kvTokens: tokens } = checkConfig(config);
  const { ranks, preemption, speculation } = config;
  if (config.pools !== undefined) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "pools",
      expected: "none: this is one engine, and pools are at least two",
      got: describePools(config.pools),
    });
  }
  const kv = lookUp(MEMORIES, config.memory, "KV memory", "memory")(tokens, config);
  const wrapped = options.wrapKv?.(kv) ?? kv;
  const host = preemption === "swap" ? hostPoolOf(config, model) : undefined;
  const plain = lookUp(
    SCHEDULERS,
    config.scheduling,
    "scheduling",
    "scheduling",
  )(wrapped, config, host);
  const cost = options.cost ?? costOf(config);
  const swapped = host === undefined ? cost : withSwaps(cost, { gpu, model, ranks });
  // Whether drafting pays does not depend on copies, which the step waits for either way.
  const { scheduler, priced } =
    speculation === undefined
      ? { scheduler: plain, priced: swapped }
      : {
          scheduler: new SpeculativeScheduler(plain, cost, speculation, config.tokensMax),
          priced: withDrafts(swapped),
        };
  // Field by field: the driver reads these in every step, and a rest pattern makes an object that is slow to read.
  return new Engine({
    clock: options.clock,
    sink: options.sink,
    scheduler,
    cost: priced,
    contextMax: config.contextMax,
    ...(options.checked !== undefined && { checked: options.checked }),
    ...(options.readyUs !== undefined && { readyUs: options.readyUs }),
    ...(options.interference !== undefined && { interference: options.interference }),
    ...(options.lagLimitUs !== undefined && { lagLimitUs: options.lagLimitUs }),
    ...(options.afterStep !== undefined && { afterStep: options.afterStep }),
  });
}

/** In blocks of the GPU's memory; where that has none, in tokens. */
function hostPoolOf(
  { memory, blockTokens, hostMemoryBytes }: EngineConfig,
  model: Model,
): HostPool {
  const hasBlocks = memory === "paged" || memory === "prefix";
  const tokens = Math.floor(hostMemoryBytes / kvBytesPerToken(model));
  return new HostPool(tokens, hasBlocks ? blockTokens : 1);
}
