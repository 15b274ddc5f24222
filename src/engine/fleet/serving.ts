/**
 * What requests are sent to: replicas of one engine, or a prefill and a decode pool. Both have entries that a router
 * picks from, and engines whose steps are added up. A replay in virtual time and a live server use the same one.
 */
import type { Clock } from "../../clock/index.ts";
import { buildEngine } from "../build-engine.ts";
import { costOf } from "../cost-choice.ts";
import type { CostModel } from "../cost-model.ts";
import {
  DisaggregatedEngine,
  type DisaggregatedSink,
} from "../disaggregated/disaggregated-engine.ts";
import type { HandoverTotals } from "../disaggregated/handover.ts";
import type { Pools } from "../disaggregated/pools.ts";
import type { Engine } from "../engine.ts";
import type { EngineConfig } from "../engine-config.ts";
import type { EngineRequest, RequestShape } from "../request.ts";
import { engineConditions, type Fleet } from "./fleet.ts";

export interface ServingOptions {
  readonly clock: Clock;
  readonly sink: DisaggregatedSink;
  readonly config: EngineConfig;
  /** Not used with pools: their sizes say how many engines there are. */
  readonly replicas: number;
  /** In place of the config's. */
  readonly pools?: Pools;
  readonly fleet?: Fleet;
  readonly seed: number;
  /** In place of the one that the config names. */
  readonly cost?: CostModel;
  readonly checked?: boolean;
  /** As of an `Engine`. */
  readonly lagLimitUs?: number;
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
  submit<Tag>(entry: number, shape: RequestShape, tag: Tag): EngineRequest<Tag>;
  /** @param entry the one that it was submitted to. Answers false if it had already ended. */
  abort(entry: number, request: EngineRequest): boolean;
}

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN, MANX_TABLE_FORMAT */
export function buildServing(options: ServingOptions): Serving {
  const pools = options.pools ?? options.config.pools;
  return pools === undefined ? replicasOf(options) : poolsOf(options, pools);
}

function replicasOf(options: ServingOptions): Serving {
  const { config, fleet, seed, cost = costOf(config) } = options;
  const engines = Array.from({ length: options.replicas }, (_, replica) =>
    buildEngine(config, {
      ...sharedBy(options),
      cost,
      sink: options.sink,
      ...(fleet !== undefined && engineConditions(fleet, replica, seed)),
    }),
  );
  return {
    entries: engines,
    engines,
    openTokens: undefined,
    handovers: undefined,
    submit: (entry, shape, tag) => engines[entry]!.submit(shape, tag),
    abort: (entry, request) => engines[entry]!.abort(request),
  };
}

function poolsOf(options: ServingOptions, pools: Pools): Serving {
  const both = new DisaggregatedEngine({
    ...sharedBy(options),
    sink: options.sink,
    engines: { prefill: pools.prefill, decode: pools.decode },
    prefill: options.config,
    link: pools.link,
  });
  return {
    entries: both.prefillEngines,
    engines: [...both.prefillEngines, ...both.decodeEngines],
    openTokens: both.openPromptTokens,
    handovers: both.handovers,
    submit: (entry, shape, tag) => both.submit(shape, tag, entry),
    abort: (_, request) => both.abort(request),
  };
}

function sharedBy({ clock, cost, checked, lagLimitUs }: ServingOptions) {
  return {
    clock,
    ...(cost !== undefined && { cost }),
    ...(checked !== undefined && { checked }),
    ...(lagLimitUs !== undefined && { lagLimitUs }),
  };
}
