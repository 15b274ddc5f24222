/**
 * What a replay sends its requests to: replicas of one engine, or a prefill and a decode pool. Both have entries that a
 * router picks from, and engines whose steps are added up.
 */
import type { Clock } from "../clock/index.ts";
import {
  buildEngine,
  type CostModel,
  DisaggregatedEngine,
  type DisaggregatedSink,
  type Engine,
  type EngineConfig,
  type HandoverTotals,
  type LinkName,
  type RequestShape,
} from "../engine/index.ts";
import { engineConditions, type Fleet } from "./fleet.ts";

/** Prefill and decode on engines of their own, all of the replay's config. */
export interface Pools {
  readonly prefill: number;
  readonly decode: number;
  readonly link: LinkName;
}

/** For the conditions of a result. */
export function describePools({ prefill, decode, link }: Pools): string {
  return `${prefill} prefill + ${decode} decode over ${link}`;
}

export interface ServingOptions {
  readonly clock: Clock;
  readonly sink: DisaggregatedSink;
  readonly config: EngineConfig;
  readonly replicas: number;
  readonly pools?: Pools;
  readonly fleet?: Fleet;
  readonly seed: number;
  readonly cost?: CostModel;
}

export interface Serving {
  /** Where requests can enter. */
  readonly entries: readonly Engine[];
  /** All that compute. */
  readonly engines: readonly Engine[];
  /** By entry, if it differs from prompts and outputs of all open requests: what a router is to balance. */
  readonly openTokens: readonly number[] | undefined;
  readonly handovers: HandoverTotals | undefined;
  /** @throws MANX_REQUEST_NEVER_FITS */
  submit(entry: number, shape: RequestShape, tag: unknown): void;
}

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function buildServing(options: ServingOptions): Serving {
  const { pools } = options;
  return pools === undefined ? replicasOf(options) : poolsOf(options, pools);
}

function replicasOf(options: ServingOptions): Serving {
  const { clock, sink, config, cost, fleet, seed } = options;
  const engines = Array.from({ length: options.replicas }, (_, replica) =>
    buildEngine(config, {
      clock,
      sink,
      ...(fleet !== undefined && engineConditions(fleet, replica, seed)),
      ...(cost !== undefined && { cost }),
    }),
  );
  return {
    entries: engines,
    engines,
    openTokens: undefined,
    handovers: undefined,
    submit: (entry, shape, tag) => engines[entry]!.submit(shape, tag),
  };
}

function poolsOf(options: ServingOptions, pools: Pools): Serving {
  const { clock, sink, config, cost } = options;
  const both = new DisaggregatedEngine({
    clock,
    sink,
    engines: { prefill: pools.prefill, decode: pools.decode },
    prefill: config,
    link: pools.link,
    ...(cost !== undefined && { cost }),
  });
  return {
    entries: both.prefillEngines,
    engines: [...both.prefillEngines, ...both.decodeEngines],
    openTokens: both.openPromptTokens,
    handovers: both.handovers,
    submit: (entry, shape, tag) => both.submit(shape, tag, entry),
  };
}
