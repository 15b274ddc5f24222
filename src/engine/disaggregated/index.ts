/** Prefill and decode in pools of their own, with the KV moved over a link between them. */
export {
  DisaggregatedEngine,
  type DisaggregatedOptions,
  type DisaggregatedSink,
} from "./disaggregated-engine.ts";
export type { HandoverTotals } from "./handover.ts";
export { describePools, type PoolSizes, type Pools } from "./pools.ts";
