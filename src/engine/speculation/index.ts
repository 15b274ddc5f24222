/** Speculative decoding: what is declared, and the scheduler that does it. */
export type { Speculation } from "./speculation.ts";
export { type SpeculationTotals, SpeculativeScheduler } from "./speculative-scheduler.ts";
