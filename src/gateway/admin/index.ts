/** The operators' door: what a gateway is doing, and the few things that can be changed while it runs. */
export { AdminServer } from "./admin-server.ts";
export type { Operations, OperatorState, WorkerReport } from "./operations.ts";
