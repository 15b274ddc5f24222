/** Validators that `manx precompile` has written. */
export type { CompiledValidator, FallbackReason, ValidatorModule } from "../validator-set.ts";
/** Start-up work as a graph: ready means warm, and what was paid for being cold is told. */
export { ClassedLatency } from "./classed-latency.ts";
export {
  type ColdCall,
  type ColdCallOptions,
  type ColdMark,
  type StartCause,
  TEMPERATURES,
  type Temperature,
} from "./cold-call.ts";
export {
  type ConnectionOptions,
  connectionProof,
  type ProofFetch,
  type WarmConnections,
} from "./connection-proof.ts";
export type { ItemStatus } from "./item-life.ts";
/** Tools of many servers as one registry. */
export type { ServerTool } from "./listed-tool.ts";
export type { RegistryStore } from "./registry-store.ts";
export { type DispatchRehearsal, rehearseDispatch } from "./rehearse-dispatch.ts";
export {
  type RegistryReport,
  type RegistryTool,
  type RegistryUpdate,
  ToolRegistryCache,
  type ToolRegistryOptions,
  type ToolServer,
} from "./tool-registry-cache.ts";
export { type ItemInputs, type WarmItem, warmItem } from "./warm-item.ts";
export type { WarmItemReport, WarmReport } from "./warm-report.ts";
export { WARM_UP_HEADERS, WarmUp, type WarmUpOptions } from "./warm-up.ts";
