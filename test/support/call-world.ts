/**
 * Drives calls (`policy/call`) against scripted upstreams in simulated time, and checks after every decision what must
 * always hold. A test gives the script; what comes back is what a caller and an upstream would have seen.
 */
import assert from "node:assert/strict";
import { Random, SimClock } from "../../src/clock/index.ts";
import {
  AttemptBudget,
  CALL_POLICY,
  Call,
  type CallDecision,
  type CallFailure,
  type CallPolicy,
  type CallRequest,
  type CallRoute,
  type Failure,
  HedgeGovernor,
  plainFailure,
  Target,
} from "../../src/policy/index.ts";

/** What an upstream does with one attempt; times count from the attempt's begin. */
export interface Script {
  /** Infinite: never. */
  readonly connectUs?: number;
  readonly headUs?: number;
  /** First output; undefined: none comes. */
  readonly contentUs?: number;
  /** Further output at these instants. */
  readonly chunksUs?: readonly number[];
  readonly endUs?: number;
  /** Instead of a good end. */
  readonly failure?: Failure;
  /** Fails while it is begun, before the call has heard of anything else. */
  readonly notBegun?: Failure;
}

export interface CallTrace {
  readonly call: Call;
  /** Begins by attempt. */
  begins: { attempt: number; target: number; cause: string; atUs: number }[];
  cancels: { attempt: number; atUs: number; why: string }[];
  delivered: number | undefined;
  /** The attempt that goes on with a broken answer. */
  continued: number | undefined;
  contentUs: number | undefined;
  failure: CallFailure | undefined;
  endedUs: number | undefined;
  /** Times in which the caller did not read; the last may be open. */
  pauses: { readonly fromUs: number; untilUs: number }[];
}

export interface DriveOptions {
  /** Of the answer that was delivered. Default: it cannot be continued. */
  readonly canContinue?: () => boolean;
  /** How late the driver's timer is, µs: a process that was busy, a machine that slept. */
  readonly lagUs?: () => number;
  /** Told of every decision, at its time. */
  readonly onDecision?: (decision: CallDecision, trace: CallTrace) => void;
}

export function world(seed = 1, startUs = 0): { clock: SimClock; random: Random } {
  return { clock: new SimClock(startUs), random: new Random(seed, "call") };
}

export interface RouteOptions {
  readonly policy?: Partial<CallPolicy>;
  readonly targets?: number;
  readonly orders?: readonly number[];
  readonly sharesLimits?: boolean;
  readonly retryFill?: number;
  /** Extra attempts that may be saved up. Default 20. */
  readonly savedMax?: number;
  /** By target; default: none can. */
  readonly canPrefill?: readonly boolean[];
}

export function makeRoute(random: Random, options: RouteOptions = {}): CallRoute {
  const policy = { ...CALL_POLICY, ...options.policy };
  const targets = Array.from({ length: options.targets ?? 1 }, (_, at) => {
    return new Target({
      name: `target ${at}`,
      order: options.orders?.[at] ?? 0,
      weight: 1,
      sharesLimits: options.sharesLimits ?? true,
      breaker: policy.breaker,
      canPrefill: options.canPrefill?.[at] ?? false,
    });
  });
  const { retry, hedge } = policy;
  const retries = new AttemptBudget({
    share: retry.share,
    callsMax: options.savedMax ?? 20,
    fill: options.retryFill ?? 1,
  });
  const hedges = new AttemptBudget({
    share: hedge?.share ?? 0,
    callsMax: options.savedMax ?? 20,
    fill: 0,
  });
  const hedger = hedge === null ? null : new HedgeGovernor(hedge, hedges);
  return { policy, targets, retries, hedges, hedger, random };
}

export const STREAM: Omit<CallRequest, "receivedUs"> = {
  inputTokens: 500,
  isStream: true,
  isRepeatable: true,
  deadlineUs: Number.POSITIVE_INFINITY,
};

/** Starts a call now; it runs as the clock does. */
export function drive(
  clock: SimClock,
  route: CallRoute,
  request: Partial<CallRequest>,
  upstream: (target: number, attempt: number, nowUs: number) => Script,
  options: DriveOptions = {},
): DrivenCall {
  const call = new Call({ ...STREAM, receivedUs: clock.nowUs(), ...request }, route, {
    canContinue: options.canContinue ?? (() => false),
  });
  const trace: CallTrace = {
    call,
    begins: [],
    cancels: [],
    delivered: undefined,
    continued: undefined,
    contentUs: undefined,
    failure: undefined,
    endedUs: undefined,
    pauses: [],
  };
  const driver = new CallDriver(clock, call, trace, upstream, options);
  driver.start();
  return Object.assign(trace, {
    abandon: () => driver.abandon(),
    pause: () => driver.pause(),
    resume: () => driver.resume(),
  });
}

/** What its caller can do meanwhile. */
export interface DrivenCall extends CallTrace {
  abandon(): void;
  pause(): void;
  resume(): void;
}

class CallDriver {
  readonly #clock: SimClock;
  readonly #call: Call;
  readonly #trace: CallTrace;
  readonly #upstream: (target: number, attempt: number, nowUs: number) => Script;
  readonly #options: DriveOptions;
  readonly #alive = new Set<number>();
  #armedUs = Number.POSITIVE_INFINITY;

  constructor(
    clock: SimClock,
    call: Call,
    trace: CallTrace,
    upstream: (target: number, attempt: number, nowUs: number) => Script,
    options: DriveOptions,
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#call = call;
    this.#trace = trace;
    this.#upstream = upstream;
  }

  start(): void {
    this.#obey(this.#call.start(this.#clock.nowUs()));
  }

  abandon(): void {
    if (this.#call.isOver) return;
    this.#obey(this.#call.abandon(this.#clock.nowUs()));
    assert(this.#call.isOver, "a call whose caller has left is over");
  }

  /** Only what is delivered can be held up. */
  pause(): void {
    const { pauses, delivered } = this.#trace;
    if (this.#call.isOver || delivered === undefined || this.#isPaused) return;
    pauses.push({ fromUs: this.#clock.nowUs(), untilUs: Number.POSITIVE_INFINITY });
    this.#call.pause(this.#clock.nowUs());
  }

  resume(): void {
    if (this.#call.isOver || !this.#isPaused) return;
    this.#trace.pauses.at(-1)!.untilUs = this.#clock.nowUs();
    this.#call.resume(this.#clock.nowUs());
    this.#arm();
  }

  get #isPaused(): boolean {
    return this.#trace.pauses.at(-1)?.untilUs === Number.POSITIVE_INFINITY;
  }

  #obey(decisions: readonly CallDecision[]): void {
    const trace = this.#trace;
    const atUs = this.#clock.nowUs();
    for (const decision of decisions) {
      this.#options.onDecision?.(decision, trace);
      switch (decision.do) {
        case "begin": {
          const { attempt, target, cause } = decision;
          const isFirst = trace.delivered === undefined;
          assert(isFirst !== (cause === "continue"), "after content only what continues begins");
          assert(isFirst || trace.continued === undefined, "a text is continued once");
          if (!isFirst) trace.continued = attempt;
          assert(trace.endedUs === undefined, "nothing begins after the end");
          assert(atUs < this.#call.deadlineUs, "nothing begins after the deadline");
          trace.begins.push({ attempt, target, cause, atUs });
          this.#alive.add(attempt);
          this.#play(attempt, this.#upstream(target, attempt, atUs));
          break;
        }
        case "cancel":
          assert(!this.#isPaused || !decision.why.startsWith("stall"), "a held up answer stalls");
          trace.cancels.push({ attempt: decision.attempt, why: decision.why, atUs });
          assert(this.#alive.delete(decision.attempt), "only what runs is cancelled");
          break;
        case "deliver":
          assert(
            trace.delivered === undefined || decision.attempt === trace.continued,
            "one answer",
          );
          trace.delivered = decision.attempt;
          break;
        default:
          assert(trace.failure === undefined && trace.endedUs === undefined, "one end");
          trace.failure = decision.failure;
          trace.endedUs = atUs;
      }
    }
    if (this.#call.isOver) this.#checkEnd();
    this.#arm();
  }

  #checkEnd(): void {
    assert.equal(this.#alive.size, 0, "no attempt outlives its call");
    for (const { end, endedUs } of this.#call.records) {
      assert(end !== undefined && endedUs !== undefined, "every attempt has an end");
    }
    assert.equal(this.#call.dueUs, Number.POSITIVE_INFINITY, "no timer outlives its call");
    this.#trace.endedUs ??= this.#clock.nowUs();
  }

  #arm(): void {
    const { dueUs } = this.#call;
    if (dueUs >= this.#armedUs || dueUs === Number.POSITIVE_INFINITY) return;
    this.#armedUs = dueUs;
    this.#clock.at(dueUs + (this.#options.lagUs?.() ?? 0), () => {
      this.#armedUs = Number.POSITIVE_INFINITY;
      this.#obey(this.#call.advance(this.#clock.nowUs()));
      assert(this.#call.dueUs > this.#clock.nowUs(), "what was due has been done");
    });
  }

  #play(attempt: number, script: Script): void {
    const beganUs = this.#clock.nowUs();
    if (script.notBegun !== undefined) {
      this.#alive.delete(attempt);
      this.#obey(this.#call.failed(attempt, script.notBegun, beganUs));
      return;
    }
    const on = (us: number | undefined, run: (nowUs: number) => void): void => {
      if (us === undefined || !Number.isFinite(us)) return;
      this.#clock.at(beganUs + us, () => {
        if (!this.#alive.has(attempt)) return;
        run(this.#clock.nowUs());
        this.#arm();
      });
    };
    const call = this.#call;
    const connectUs = script.connectUs ?? 0;
    on(connectUs, (nowUs) => call.sent(attempt, nowUs));
    if (connectUs === Number.POSITIVE_INFINITY) return;
    on(script.headUs, (nowUs) => call.head(attempt, 200, nowUs));
    on(script.contentUs, (nowUs) => {
      const decisions = call.content(attempt, nowUs);
      if (decisions.some((decision) => decision.do === "deliver")) this.#trace.contentUs = nowUs;
      this.#obey(decisions);
    });
    for (const us of script.chunksUs ?? []) {
      on(us, (nowUs) => call.read(attempt, nowUs, true, false));
    }
    on(script.endUs, (nowUs) => {
      this.#alive.delete(attempt);
      this.#obey(
        script.failure === undefined
          ? call.complete(attempt, nowUs)
          : call.failed(attempt, script.failure, nowUs),
      );
    });
  }
}

/** A stream that begins after `contentUs` and is whole 100 ms later. */
export function answer(contentUs: number): Script {
  return { headUs: Math.min(5_000, contentUs), contentUs, endUs: contentUs + 100_000 };
}

export function refusal(status: number, retryAfterUs?: number, afterUs = 20_000): Script {
  return {
    endUs: afterUs,
    failure: { ...plainFailure("status", status), retryAfterUs },
  };
}
