/**
 * What is known about one place that can answer: an upstream with a model. Shared by all calls that may go there; a call
 * asks before it begins an attempt and reports when that has ended.
 */
import { type Ballot, Breaker, type BreakerState, type Verdict } from "./breaker.ts";
import type { BreakerPolicy } from "./call-policy.ts";
import { LatencyBySize } from "./latency-by-size.ts";

export interface TargetOptions {
  readonly name: string;
  /** Lower ones first; the next order is for when none of these can be used. */
  readonly order: number;
  /** Share among targets of one order, above 0. */
  readonly weight: number;
  /**
   * A 429 is meant for us all: the key is the gateway's. Where callers bring their own keys, one caller's limit is nobody
   * else's.
   */
  readonly sharesLimits: boolean;
  readonly breaker: BreakerPolicy | null;
  /** It goes on with a last message of the assistant. Default false. */
  readonly canPrefill?: boolean;
}

export interface FirstContent {
  /** Of the prompt. */
  readonly tokens: number;
  /** From the attempt's begin. */
  readonly ttftUs: number;
}

/** A call this many times slower than the median of its size counts as slow, where no figure is set. */
const SLOW_FACTOR = 4;

export class Target {
  readonly name: string;
  readonly order: number;
  readonly weight: number;
  readonly canPrefill: boolean;
  readonly ttft = new LatencyBySize();
  readonly #sharesLimits: boolean;
  readonly #breaker: Breaker | null;
  readonly #slowUs: number;
  /** An operator has taken it out: no attempt begins there until it is put back. */
  isDrained = false;
  #coolUntilUs = 0;
  /** Another gateway's breaker is open until then. */
  #elsewhereUntilUs = 0;

  constructor(options: TargetOptions) {
    this.name = options.name;
    this.order = options.order;
    this.weight = options.weight;
    this.canPrefill = options.canPrefill ?? false;
    this.#sharesLimits = options.sharesLimits;
    this.#breaker = options.breaker === null ? null : new Breaker(options.breaker);
    this.#slowUs = options.breaker?.slowUs ?? 0;
  }

  isHealthy(nowUs: number): boolean {
    if (this.isDrained || nowUs < this.#elsewhereUntilUs) return false;
    return nowUs >= this.#coolUntilUs && (this.#breaker?.allows(nowUs) ?? true);
  }

  /**
   * Whether it may be used for want of a better one: slow is better than nothing, broken and told to wait are not. What
   * others say is a hint: it may be their way there that is broken.
   */
  isBearable(nowUs: number): boolean {
    if (this.isDrained || nowUs < this.#coolUntilUs) return false;
    return this.#breaker === null || this.#breaker.allows(nowUs) || !this.#breaker.isForFailure;
  }

  /** When it is worth another look; in the past if now, Infinity if nobody knows. */
  get availableUs(): number {
    if (this.isDrained) return Number.POSITIVE_INFINITY;
    return Math.max(this.#coolUntilUs, this.#breaker?.openUntilUs ?? 0);
  }

  breakerAt(nowUs: number): BreakerState {
    return this.#breaker?.stateAt(nowUs) ?? "closed";
  }

  get breakerOpened(): number {
    return this.#breaker?.opened ?? 0;
  }

  /** Until when its own breaker is open; in the past if it is not. */
  get openUntilUs(): number {
    return this.#breaker?.openUntilUs ?? 0;
  }

  /**
   * Another gateway has found it ill: others come first until then, unless a call of our own finds it well before. Says
   * nothing where no breaker is wanted.
   */
  openedElsewhere(untilUs: number): void {
    if (this.#breaker !== null) this.#elsewhereUntilUs = Math.max(0, untilUs);
  }

  /** It has asked for a pause. */
  cool(untilUs: number): void {
    if (this.#sharesLimits) this.#coolUntilUs = Math.max(this.#coolUntilUs, untilUs);
  }

  /** @returns to be given back with the attempt's end, once. */
  begin(nowUs: number): Ballot {
    return this.#breaker?.begin(nowUs) ?? 0;
  }

  /** First content came. */
  content(ballot: Ballot, { tokens, ttftUs }: FirstContent, nowUs: number): void {
    const slowUs = this.#slowUsFor(tokens);
    this.ttft.record(tokens, ttftUs);
    const verdict = ttftUs > slowUs ? "slow" : "good";
    if (verdict === "good") this.#elsewhereUntilUs = 0;
    this.#breaker?.end(ballot, verdict, nowUs);
  }

  /**
   * Given up while another attempt was faster. Its time is at least that, and above the percentile at which hedges begin:
   * counted as it is, it leaves the quantiles up to there right.
   */
  lost(ballot: Ballot, silence: FirstContent, nowUs: number): void {
    this.silent(ballot, silence, nowUs);
    this.ttft.record(silence.tokens, silence.ttftUs);
  }

  /** Given up before its first content, which would have taken longer than that: enough to say that it is slow, or nothing. */
  silent(ballot: Ballot, { tokens, ttftUs }: FirstContent, nowUs: number): void {
    this.end(ballot, ttftUs > this.#slowUsFor(tokens) ? "slow" : undefined, nowUs);
  }

  /** @param verdict undefined if the attempt's end says nothing about the target. */
  end(ballot: Ballot, verdict: Verdict | undefined, nowUs: number): void {
    if (verdict === undefined) this.#breaker?.abstain(ballot);
    else this.#breaker?.end(ballot, verdict, nowUs);
  }

  /** What had begun well has broken after its first content. */
  broke(nowUs: number): void {
    this.#breaker?.broke(nowUs);
  }

  /** NaN, which nothing is above, while too little is known. */
  #slowUsFor(tokens: number): number {
    return this.#slowUs > 0 ? this.#slowUs : SLOW_FACTOR * this.ttft.quantileUs(tokens, 0.5);
  }
}
