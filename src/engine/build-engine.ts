/** From a config to an engine: what each of its names stands for. */
import type { Clock } from "../clock/index.ts";
import { lookUp, ManxError } from "../core/index.ts";
import { checkConfig } from "./config-check.ts";
import { ContinuousBatcher } from "./continuous-batcher.ts";
import { costOf } from "./cost-choice.ts";
import type { CostModel } from "./cost-model.ts";
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
  const { kvTokens: tokens } = checkConfig(config);
  if (config.pools !== undefined) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "pools",
      expected: "none: this is one engine, and pools are at least two",
      got: describePools(config.pools),
    });
  }
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
  const cost = options.cost ?? costOf(config);
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
