/** The rules of one call, as an operator sets them. Each limit has its own knob: one knob for everything kills healthy streams. */
import { US_PER_MS, US_PER_S } from "../../core/index.ts";

export interface PhaseTimeouts {
  /** To an open connection, TLS included. 0 = none, as for all of these. */
  readonly connectUs: number;
  /** From the sent request to the head of the answer; for a call that does not stream, the whole generation. */
  readonly headersUs: number;
  /** From the sent request of a stream to the first output of the model. */
  readonly firstContentUs: number;
  /** Without any byte (life). */
  readonly lifeGapUs: number;
  /** Without progress in text or a tool call, pings or not. */
  readonly progressGapUs: number;
  /** Without progress while the model reasons. */
  readonly thinkingGapUs: number;
}

export interface RetryPolicy {
  /** Attempts of a call in all, hedges not counted. 1 = no retry. */
  readonly attemptsMax: number;
  /** First pause; each further one doubles it. Jitter takes off up to half. */
  readonly backoffBaseUs: number;
  readonly backoffCapUs: number;
  /** A longer `Retry-After` is not slept through: another target, or the caller is told. */
  readonly retryAfterMaxUs: number;
  /** Retries per call, as a share of all calls, in calls and in prompt tokens. */
  readonly share: number;
}

export interface HedgePolicy {
  /** Of the time to first content, 50 to 99.9. */
  readonly percentile: number;
  /** Never sooner. */
  readonly floorUs: number;
  /** Hedges as a share of all calls, in calls and in prompt tokens. */
  readonly share: number;
  /** Whether a target may hedge itself, where it stands for many servers. */
  readonly sameTarget: boolean;
}

export interface BreakerPolicy {
  readonly windowUs: number;
  /** Fewer calls in a window say nothing; as many that fail, or are slow, in a row do in whatever time. */
  readonly callsMin: number;
  /** 0 to 1; over it the target is taken for ill. */
  readonly failShare: number;
  /** A call is slow above this time to first content; 0: four times the median of its size. */
  readonly slowUs: number;
  readonly slowShare: number;
  /** How long it stays open before one call tries again; doubles with each failure, eightfold at most. */
  readonly openUs: number;
}

export interface StallPolicy {
  /**
   * A text that stalls or is cut past its first content is gone on with, once, at a target that can; otherwise the caller is
   * told. Never within a tool call, reasoning or a refusal.
   */
  readonly continueByPrefill: boolean;
}

export interface CallPolicy {
  /** From the arrival at the gateway to the last byte; 0 = none. A caller's own deadline counts if it is sooner. */
  readonly deadlineUs: number;
  readonly timeouts: PhaseTimeouts;
  readonly retry: RetryPolicy;
  readonly hedge: HedgePolicy | null;
  readonly breaker: BreakerPolicy | null;
  readonly stall: StallPolicy;
}

export const CALL_POLICY: CallPolicy = {
  deadlineUs: 0,
  timeouts: {
    connectUs: 10 * US_PER_S,
    headersUs: 600 * US_PER_S,
    firstContentUs: 180 * US_PER_S,
    lifeGapUs: 120 * US_PER_S,
    progressGapUs: 120 * US_PER_S,
    thinkingGapUs: 300 * US_PER_S,
  },
  retry: {
    attemptsMax: 3,
    backoffBaseUs: 250 * US_PER_MS,
    backoffCapUs: 8 * US_PER_S,
    retryAfterMaxUs: 20 * US_PER_S,
    share: 0.1,
  },
  hedge: null,
  breaker: {
    windowUs: 30 * US_PER_S,
    callsMin: 20,
    failShare: 0.5,
    slowUs: 0,
    slowShare: 0.8,
    openUs: 5 * US_PER_S,
  },
  stall: { continueByPrefill: false },
};

/** What `hedge: true` in a configuration means. */
export const HEDGE_POLICY: HedgePolicy = {
  percentile: 95,
  floorUs: 50 * US_PER_MS,
  share: 0.05,
  sameTarget: true,
};
