/** How policies are written. Each default is the policy's own, so that there is one truth. */
import { z } from "zod";
import { duration, share } from "../../config/index.ts";
import { durationText } from "../../core/index.ts";
import { type BreakerPolicy, CALL_POLICY, HEDGE_POLICY } from "../../policy/index.ts";

const { timeouts, retry } = CALL_POLICY;
const BREAKER = CALL_POLICY.breaker as BreakerPolicy;
/** Below what clients wait for a head by default, so that a held head is not taken for a dead server. */
const GATE = "10s";

const time = (us: number, words: string) => duration.default(durationText(us)).describe(words);

const hedge = z.strictObject({
  percentile: z
    .number()
    .min(50)
    .max(99.9)
    .default(HEDGE_POLICY.percentile)
    .describe(
      "of the time to first content at this size of prompt, after which a second one starts",
    ),
  floor: time(HEDGE_POLICY.floorUs, "never sooner"),
  share: share.default(HEDGE_POLICY.share).describe("of all calls, in calls and in prompt tokens"),
  sameTarget: z
    .boolean()
    .default(HEDGE_POLICY.sameTarget)
    .describe("a target that stands for many servers may hedge itself"),
});

const breaker = z.strictObject({
  window: time(BREAKER.windowUs, "over which calls are counted"),
  callsMin: z.int().min(1).max(1_000_000).default(BREAKER.callsMin).describe("fewer say nothing"),
  failShare: share.default(BREAKER.failShare).describe("over it the target is taken for ill"),
  slow: z
    .union([z.literal("auto"), duration])
    .default("auto")
    .describe("time to first content above which a call is slow; auto: 4 x the median of its size"),
  slowShare: share.default(BREAKER.slowShare).describe("over it the target is taken for ill"),
  open: time(BREAKER.openUs, "until one call tries again; doubles, eightfold at most"),
});

export const policySchema = z.strictObject({
  deadline: duration
    .default(durationText(CALL_POLICY.deadlineUs))
    .describe("of a call over all attempts, to its last byte; 0s = none"),
  timeouts: z
    .strictObject({
      connect: time(
        timeouts.connectUs,
        "to an open connection, TLS included; 0s = none, as for all",
      ),
      headers: time(timeouts.headersUs, "to the head; without stream that is the whole generation"),
      firstContent: time(timeouts.firstContentUs, "of a stream, to the first output of the model"),
      lifeGap: time(timeouts.lifeGapUs, "without any byte"),
      progressGap: time(timeouts.progressGapUs, "without text or tool call, pings or not"),
      thinkingGap: time(timeouts.thinkingGapUs, "without progress while the model reasons"),
    })
    .prefault({}),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(10).default(retry.attemptsMax).describe("in all; 1 = no retry"),
      backoff: time(retry.backoffBaseUs, "first pause; each further one doubles, jitter takes off"),
      backoffMax: time(retry.backoffCapUs, "longest pause"),
      retryAfterMax: time(retry.retryAfterMaxUs, "a longer Retry-After is not slept through"),
      share: share.default(retry.share).describe("of all calls, in calls and in prompt tokens"),
    })
    .prefault({}),
  hedge: z
    .union([z.boolean(), hedge])
    .default(CALL_POLICY.hedge !== null)
    .describe(
      "a second attempt beside one that is slow by its own standard; true for the defaults",
    ),
  breaker: z.union([z.boolean(), breaker]).default(true),
  stall: z
    .strictObject({
      continueByPrefill: z
        .boolean()
        .default(false)
        .describe("a stalled text is continued at a target that can; tool calls never are"),
    })
    .prefault({}),
  gate: duration
    .default(GATE)
    .describe("how long a stream's head waits for content, so that failures keep their status"),
});

export type WrittenPolicy = z.output<typeof policySchema>;
/** What `true` stands for. */
export const HEDGE_WRITTEN = hedge.parse({});
export const BREAKER_WRITTEN = breaker.parse({});
