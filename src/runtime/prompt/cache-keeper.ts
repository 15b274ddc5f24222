/**
 * Primes prefixes before the first user comes, and keeps them in the provider's cache for as long as that pays
 * (`keepAliveWorth`). It stops by itself when it does not, and goes on with the next arrival. One call at a time; each has a
 * deadline, is marked as warm-up, and is counted with what it cost.
 *
 *     keep ─▶ priming ─▶ kept ─── timer: pays ──▶ call ─▶ kept
 *                          │  ▲    not worth it ──▶ resting ── arrival ─▶ kept
 *                          │  └── arrival                └─ lifetime ─▶ expired ── arrival ─▶ kept
 *                          └─ call fails ─▶ again while there is time ─▶ expired
 */
import type { Cancel, Clock, Random } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import { promptPrice } from "../../policy/index.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import { ArrivalRate } from "./arrival-rate.ts";
import type { CompiledPrompt } from "./compile-prompt.ts";
import { keepAliveWorth } from "./keep-alive-worth.ts";
import { primerBody } from "./primer-body.ts";

export interface WarmUpCall {
  readonly name: string;
  readonly purpose: "warm-up";
  /** To send along, so that no percentile and no budget counts it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** By the provider's usage. */
export interface WarmUpUsage {
  readonly readTokens: number;
  readonly writtenTokens: number;
}

export interface CacheKeeperOptions {
  readonly clock: Clock;
  /** For the jitter, so that many processes do not call at once. */
  readonly random: Random;
  /** @returns null if the answer had no usage: then what was done is not confirmed. */
  readonly send: (call: WarmUpCall) => Promise<WarmUpUsage | null>;
  /** Default 8. */
  readonly prefixesMax?: number;
  /** Of one call. Default 20 s. */
  readonly deadline?: TimeSpan;
  /** Of a lifetime after which it is renewed, before jitter. Default 0.9. */
  readonly renewShare?: number;
  /** Of that time, by which it may be earlier. Default 0.1. */
  readonly jitterShare?: number;
  /** Of the rate of arrivals: one this long ago counts half. Default 30 min. */
  readonly halfLife?: TimeSpan;
  /** Tokens of input that an earlier first token is worth, for each token that is not computed. Default 0. */
  readonly latencyFactor?: number;
}

export type KeptState = "priming" | "kept" | "resting" | "expired" | "stopped";

export interface KeptPrefixReport {
  readonly name: string;
  readonly state: KeptState;
  readonly tokens: number;
  /** Real requests that were observed. */
  readonly arrivals: number;
  readonly perS: number;
  readonly calls: number;
  /** Calls whose usage shows that the prefix was still there. */
  readonly confirmed: number;
  /** Times that it was found gone, or was let go. */
  readonly expired: number;
  readonly failed: number;
  /** Of all calls, in tokens of input. */
  readonly costTokens: number;
  /** null where no price is known. */
  readonly costUsd: number | null;
}

interface Kept {
  readonly name: string;
  readonly prompt: CompiledPrompt;
  readonly tokens: number;
  readonly lifetimeUs: number;
  readonly writeFactor: number;
  readonly readFactor: number;
  readonly rate: ArrivalRate;
  state: KeptState;
  /** When the entry was last written or read, as far as is known. */
  usedUs: number;
  cancel: Cancel | undefined;
  arrivals: number;
  calls: number;
  confirmed: number;
  expired: number;
  failed: number;
  costTokens: number;
}

const PREFIXES_MAX = 8;
const DEADLINE = "20s";
const HALF_LIFE = "30m";
/** Between two tries of a call that failed. */
const AGAIN_US_MIN = 1_000_000;
const HEADERS = { "x-manx-purpose": "warm-up" };

export class CacheKeeper {
  readonly #options: CacheKeeperOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #stop = new AbortController();
  readonly #deadlineUs: number;
  readonly #halfLifeUs: number;
  readonly #prefixesMax: number;
  /** The call under way and those that wait for it, one behind the other; at most one for each prefix. */
  #line: Promise<void> = Promise.resolve();

  /** @throws MANX_DURATION, MANX_FLAG_VALUE */
  constructor(options: CacheKeeperOptions) {
    const { renewShare = 0.9, jitterShare = 0.1, latencyFactor = 0 } = options;
    const { prefixesMax = PREFIXES_MAX, deadline = DEADLINE, halfLife = HALF_LIFE } = options;
    const most = Number.MAX_SAFE_INTEGER;
    check({ renewShare }, "between 0 and 1", renewShare > 0 && renewShare < 1);
    check({ jitterShare }, "from 0, below 1", isFrom(0, jitterShare) && jitterShare < 1);
    check({ latencyFactor }, "from 0", isFrom(0, latencyFactor) && latencyFactor <= most);
    check(
      { prefixesMax },
      "a whole number from 1",
      isFrom(1, prefixesMax) && prefixesMax % 1 === 0,
    );
    this.#deadlineUs = spanUs(deadline, "deadline");
    this.#halfLifeUs = spanUs(halfLife, "halfLife");
    check({ halfLife }, "above 0", this.#halfLifeUs > 0);
    this.#prefixesMax = prefixesMax;
    this.#options = options;
  }

  /**
   * Primes the prompt, and keeps it from then on. Resolves when the first call has ended, well or not.
   *
   * @throws MANX_REQUEST_INVALID for a prompt that no cache keeps, and for a name that is taken.
   * @throws MANX_OVERLOADED beyond `prefixesMax`.
   */
  async keep(name: string, prompt: CompiledPrompt): Promise<KeptPrefixReport> {
    this.#check(name, prompt);
    const [shortest] = prompt.rules.lifetimes;
    const own = prompt.marks[0]?.lifetime ?? prompt.body.prompt_cache_retention;
    const lifetime = prompt.rules.lifetimes.find((one) => one.name === own) ?? shortest;
    const price = promptPrice(prompt.model);
    const { clock } = this.#options;
    const kept: Kept = {
      name,
      prompt,
      tokens: prompt.cacheableTokens,
      lifetimeUs: lifetime.lifetimeUs,
      writeFactor: lifetime.writeFactor,
      readFactor: price === null ? prompt.rules.readFactor : price.cachedUsd / price.inputUsd,
      rate: new ArrivalRate(clock.nowUs(), this.#halfLifeUs),
      state: "priming",
      usedUs: clock.nowUs(),
      cancel: undefined,
      arrivals: 0,
      calls: 0,
      confirmed: 0,
      expired: 0,
      failed: 0,
      costTokens: 0,
    };
    this.#kept.set(name, kept);
    await this.#inLine(kept);
    return this.#reportOf(kept);
  }

  /** A real request with this prefix was sent: it is in the cache now whatever it was before. */
  arrived(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined || kept.state === "stopped") return;
    const nowUs = this.#options.clock.nowUs();
    kept.arrivals += 1;
    kept.rate.arrived(nowUs);
    if (kept.state === "priming") return;
    this.#used(kept, nowUs);
  }

  /** Lets go of one: its place is free. */
  drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#settle(kept, "stopped");
    this.#kept.delete(name);
  }

  /** Ends all, the call under way included. */
  stop(): void {
    this.#stop.abort(new DOMException("the keeper was stopped", "AbortError"));
    for (const kept of this.#kept.values()) this.#settle(kept, "stopped");
  }

  report(): KeptPrefixReport[] {
    return [...this.#kept.values()].map((kept) => this.#reportOf(kept));
  }

  #check(name: string, { cacheableTokens, rules }: CompiledPrompt): void {
    const most = this.#prefixesMax;
    if (this.#stop.signal.aborted || this.#kept.has(name)) {
      const got = this.#kept.has(name) ? "one that is kept already" : "a keeper that was stopped";
      throw new ManxError("MANX_REQUEST_INVALID", { where: name, expected: "a new name", got });
    }
    if (cacheableTokens === 0) {
      throw new ManxError("MANX_REQUEST_INVALID", {
        what: "a prompt that no cache keeps cannot be kept warm",
        where: name,
        expected: `a prefix of at least ${rules.minimumTokens ?? "the model's minimum of"} tokens`,
        got: "a shorter one",
      });
    }
    if (this.#kept.size < most) return;
    throw new ManxError("MANX_OVERLOADED", {
      what: "the keeper has no room for another prefix",
      where: name,
      expected: `at most ${most} prefixes`,
      hint: "drop one, or raise prefixesMax",
    });
  }

  /** After all that wait already, one at a time. */
  #inLine(kept: Kept): Promise<void> {
    const run = this.#line.then(() => this.#call(kept));
    this.#line = run;
    return run;
  }

  async #call(kept: Kept): Promise<void> {
    if (kept.state === "stopped") return;
    const { clock, send } = this.#options;
    const sentUs = clock.nowUs();
    const { signal, cancel } = clock.deadline(sentUs + this.#deadlineUs);
    const either = AbortSignal.any([signal, this.#stop.signal]);
    kept.calls += 1;
    try {
      const body = primerBody(kept.prompt);
      const call: WarmUpCall = {
        name: kept.name,
        purpose: "warm-up",
        headers: HEADERS,
        body,
        signal: either,
      };
      this.#answered(kept, await ended(send(call), either), sentUs);
    } catch {
      this.#failed(kept);
    } finally {
      cancel();
    }
  }

  #answered(kept: Kept, usage: WarmUpUsage | null, sentUs: number): void {
    const isFirst = kept.state === "priming";
    const isRead = usage === null ? !isFirst : usage.readTokens > 0;
    kept.costTokens += kept.tokens * (isRead ? kept.readFactor : kept.writeFactor);
    if (usage !== null && isRead) kept.confirmed += 1;
    if (usage !== null && !isRead && !isFirst) kept.expired += 1;
    if (kept.state !== "stopped") this.#used(kept, sentUs);
  }

  #failed(kept: Kept): void {
    kept.failed += 1;
    if (kept.state === "stopped") return;
    const { clock } = this.#options;
    const endUs = kept.usedUs + kept.lifetimeUs;
    const againUs = clock.nowUs() + Math.max(AGAIN_US_MIN, (endUs - clock.nowUs()) / 2);
    if (againUs < endUs) {
      kept.state = "kept";
      this.#at(kept, Math.round(againUs), () => this.#due(kept));
    } else this.#rest(kept, "expired");
  }

  #used(kept: Kept, atUs: number): void {
    kept.state = "kept";
    kept.usedUs = Math.max(kept.usedUs, atUs);
    const { renewShare = 0.9, jitterShare = 0.1, random } = this.#options;
    const share = renewShare * (1 - jitterShare * random.next());
    this.#at(kept, kept.usedUs + Math.round(kept.lifetimeUs * share), () => this.#due(kept));
  }

  #due(kept: Kept): void {
    const nowUs = this.#options.clock.nowUs();
    const { latencyFactor = 0 } = this.#options;
    const { pays } = keepAliveWorth({
      ...kept,
      perS: kept.rate.perS(nowUs),
      sinceUs: nowUs - kept.usedUs,
      latencyFactor,
    });
    if (pays) void this.#inLine(kept);
    else this.#rest(kept, "resting");
  }

  /** Nothing more is done for it until somebody comes. */
  #rest(kept: Kept, state: "resting" | "expired"): void {
    this.#settle(kept, state);
    if (state === "expired") kept.expired += 1;
    else this.#at(kept, kept.usedUs + kept.lifetimeUs, () => this.#rest(kept, "expired"));
  }

  #at(kept: Kept, atUs: number, run: () => void): void {
    kept.cancel?.();
    kept.cancel = this.#options.clock.at(atUs, run);
  }

  #settle(kept: Kept, state: KeptState): void {
    kept.cancel?.();
    kept.cancel = undefined;
    kept.state = state;
  }

  #reportOf(kept: Kept): KeptPrefixReport {
    const { name, state, tokens, arrivals, calls, confirmed, expired, failed, costTokens } = kept;
    const price = promptPrice(kept.prompt.model);
    return {
      name,
      state,
      tokens,
      arrivals,
      perS: kept.rate.perS(this.#options.clock.nowUs()),
      calls,
      confirmed,
      expired,
      failed,
      costTokens,
      costUsd: price === null ? null : (costTokens * price.inputUsd) / 1_000_000,
    };
  }
}

/** A call that ignores its signal holds nobody up. */
function ended<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function isFrom(least: number, value: number): boolean {
  return typeof value === "number" && value >= least;
}

function check(option: Readonly<Record<string, unknown>>, expected: string, isGood: boolean): void {
  if (isGood) return;
  const [[where, got]] = Object.entries(option) as [[string, unknown]];
  throw new ManxError("MANX_FLAG_VALUE", { where, expected, got: String(got) });
}
