/** Four reference policies and their driver, which repeat runs of the simulator Vidur bit by bit. */
export { BlockLedger, type BlockOptions } from "./block-ledger.ts";
export { type ChunkedMixedOptions, ChunkedMixedReference } from "./chunked-mixed.ts";
export { type PrefillFirstOptions, PrefillFirstReference } from "./prefill-first.ts";
export { ReferenceBatch } from "./reference-batch.ts";
export {
  ReferenceEngine,
  type ReferenceEngineOptions,
  type ReferenceRestart,
  type ReferenceStep,
} from "./reference-engine.ts";
export { ReferenceRequest, type ReferenceShape } from "./reference-request.ts";
export { type ReferenceOptions, ReferenceScheduler } from "./reference-scheduler.ts";
export { StaticReference } from "./static-reference.ts";
export {
  type CostTables,
  type ReferenceCost,
  TableCost,
  type TableCostOptions,
} from "./table-cost.ts";
export { type WholeContextOptions, WholeMixedReference } from "./whole-mixed.ts";
