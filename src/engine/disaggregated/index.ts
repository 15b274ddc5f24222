/** Prefill and decode in pools of their own, with the KV moved over a link between them. */
export {
  DisaggregatedEngine,
  type DisaggregatedOptions,
  type DisaggregatedSink,
  type PoolSizes,
} from "./disaggregated-engine.ts";
export type { HandoverTotals } from "./handover.ts";
