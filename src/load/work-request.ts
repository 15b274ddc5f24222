/** One request of a workload: when it is wanted, and how long it is. Made by an arrival process or read from a trace. */
export interface WorkRequest {
  /** Intended start from the beginning of the run. */
  readonly atUs: number;
  /** ≥ 1. */
  readonly promptTokens: number;
  /** ≥ 1. */
  readonly outputTokens: number;
  /** Ids of the prompt's blocks in order, if the trace has them: equal ids are equal prefixes up to there. */
  readonly blockHashes?: readonly number[];
  /** Class, if the trace has it; the lower, the sooner, as in vLLM. */
  readonly priority?: number;
  /** On whose behalf, if the trace says so. */
  readonly tenant?: string;
  /** Line of the trace, from 1, header included; 0 if there is none. */
  readonly row: number;
}
