/** The rules of a call as its caller writes them: in the words of a gateway's configuration, each left out as it is there. */
import { ManxError } from "../../core/index.ts";
import {
  type BreakerPolicy,
  CALL_POLICY,
  type CallPolicy,
  HEDGE_POLICY,
  type HedgePolicy,
  type PhaseTimeouts,
  type RetryPolicy,
} from "../../policy/index.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";

export interface CallPolicyOptions {
  /** Over all attempts, to the last byte; 0 = none, as in a configuration. Default: none. */
  readonly deadline?: TimeSpan;
  /** 0 = none, for all of these. */
  readonly timeouts?: {
    /** To the head, the connection included; of a call that does not stream, the whole generation. Default 600 s. */
    readonly headers?: TimeSpan;
    /** Of a stream, to the first output of the model. Default 180 s. */
    readonly firstContent?: TimeSpan;
    /** Without any byte. Default 120 s. */
    readonly lifeGap?: TimeSpan;
    /** Without text or tool call, pings or not. Default 120 s. */
    readonly progressGap?: TimeSpan;
    /** Without progress while the model reasons. Default 300 s. */
    readonly thinkingGap?: TimeSpan;
  };
  readonly retry?: {
    /** In all, hedges not counted; 1 = no retry. Default 3, at most 10. */
    readonly attempts?: number;
    /** First pause; each further one doubles. Default 250 ms. */
    readonly backoff?: TimeSpan;
    /** Longest pause. Default 8 s. */
    readonly backoffMax?: TimeSpan;
    /** A longer `Retry-After` is not slept through. Default 20 s. */
    readonly retryAfterMax?: TimeSpan;
    /** Of all calls, in calls and in prompt tokens. Default 0.1. */
    readonly share?: number;
  };
  /** A second attempt beside one that is slow by its own standard; true for the defaults. Default false. */
  readonly hedge?:
    | boolean
    | {
        /** Of the time to first content at this size of prompt, 50 to 99.9. Default 95. */
        readonly percentile?: number;
        /** Never sooner. Default 50 ms. */
        readonly floor?: TimeSpan;
        /** Of all calls, in calls and in prompt tokens. Default 0.05. */
        readonly share?: number;
        /** A target that stands for many servers may hedge itself. Default true. */
        readonly sameTarget?: boolean;
      };
  /** Default true. */
  readonly breaker?: boolean;
}

const ATTEMPTS_MAX = 10;

/** @throws MANX_DURATION, MANX_FLAG_VALUE */
export function callPolicyOf(options: CallPolicyOptions = {}): CallPolicy {
  const { deadline, breaker = true } = options;
  return {
    ...CALL_POLICY,
    deadlineUs: us(deadline, "deadline", CALL_POLICY.deadlineUs),
    timeouts: timeoutsOf(options.timeouts ?? {}),
    retry: retryOf(options.retry ?? {}),
    hedge: hedgeOf(options.hedge ?? false),
    breaker: breaker ? (CALL_POLICY.breaker as BreakerPolicy) : null,
  };
}

function timeoutsOf(written: NonNullable<CallPolicyOptions["timeouts"]>): PhaseTimeouts {
  const { timeouts } = CALL_POLICY;
  return {
    // A connection cannot be told from a head through `fetch`.
    connectUs: 0,
    headersUs: us(written.headers, "timeouts.headers", timeouts.headersUs),
    firstContentUs: us(written.firstContent, "timeouts.firstContent", timeouts.firstContentUs),
    lifeGapUs: us(written.lifeGap, "timeouts.lifeGap", timeouts.lifeGapUs),
    progressGapUs: us(written.progressGap, "timeouts.progressGap", timeouts.progressGapUs),
    thinkingGapUs: us(written.thinkingGap, "timeouts.thinkingGap", timeouts.thinkingGapUs),
  };
}

function retryOf(written: NonNullable<CallPolicyOptions["retry"]>): RetryPolicy {
  const { retry } = CALL_POLICY;
  const { attempts = retry.attemptsMax, share = retry.share } = written;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > ATTEMPTS_MAX) {
    throw wrong("retry.attempts", `a whole number from 1 to ${ATTEMPTS_MAX}`, attempts);
  }
  return {
    attemptsMax: attempts,
    backoffBaseUs: us(written.backoff, "retry.backoff", retry.backoffBaseUs),
    backoffCapUs: us(written.backoffMax, "retry.backoffMax", retry.backoffCapUs),
    retryAfterMaxUs: us(written.retryAfterMax, "retry.retryAfterMax", retry.retryAfterMaxUs),
    share: checkedShare(share, "retry.share"),
  };
}

function hedgeOf(written: NonNullable<CallPolicyOptions["hedge"]>): HedgePolicy | null {
  if (written === false) return null;
  if (written === true) return HEDGE_POLICY;
  const { percentile = HEDGE_POLICY.percentile, share = HEDGE_POLICY.share } = written;
  if (!(percentile >= 50 && percentile <= 99.9)) {
    throw wrong("hedge.percentile", "50 to 99.9", percentile);
  }
  return {
    percentile,
    floorUs: us(written.floor, "hedge.floor", HEDGE_POLICY.floorUs),
    share: checkedShare(share, "hedge.share"),
    sameTarget: written.sameTarget ?? HEDGE_POLICY.sameTarget,
  };
}

function us(span: TimeSpan | undefined, where: string, byDefault: number): number {
  return span === undefined ? byDefault : spanUs(span, where);
}

function checkedShare(share: number, where: string): number {
  if (share >= 0 && share <= 1) return share;
  throw wrong(where, "a share from 0 to 1", share);
}

function wrong(where: string, expected: string, got: unknown): ManxError {
  return new ManxError("MANX_FLAG_VALUE", { where, expected, got: String(got) });
}
