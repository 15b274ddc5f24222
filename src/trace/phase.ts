/**
 * The seven phases of a turn, and what is left over. Each instant of a turn belongs to exactly one of them, so they sum to
 * wall time. The second level says why an instant was spent that way; under `unattributed` it says why nobody can tell.
 */

export const PHASES = [
  "assembly",
  "retrieval",
  "prefill",
  "decode",
  "tools",
  "guardrails",
  "orchestration",
  "unattributed",
] as const;

export type Phase = (typeof PHASES)[number];

export const PHASE_SUBS = [
  /** Waited for a place: a lane, a limit, a free worker. */
  "queue",
  /** DNS, TCP and TLS. */
  "connect",
  /** An attempt whose answer was not used. */
  "retry",
  /** Between two attempts of one call. */
  "back-off",
  /** A gap between two outputs of a stream that is no normal gap. */
  "stall",
  /** Only the last branch of a fan-out still ran: last minus second-last finisher. */
  "join-wait",
  /** Set-up that a warm call would not have paid for. */
  "cold-start",
  /** All output had come, and the stream had not ended. */
  "tail",
  /** What had come was not taken, or the stream had ended and the call had not: the reader was slow. */
  "consumer",
  /** Unattributed: no span tells what happened. */
  "not-instrumented",
  /** Unattributed: a model call without the instant of its first output. */
  "not-separable",
  /** Unattributed: spans beyond the recorder's limit. */
  "dropped",
  /** Unattributed: stands in for a parent that was never received. */
  "missing-parent",
] as const;

export type PhaseSub = (typeof PHASE_SUBS)[number];

/** Whole µs of each phase. */
export type PhaseTimes = Readonly<Record<Phase, number>>;
