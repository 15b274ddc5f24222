/**
 * Many calls at once on one route, in a world drawn from a seed: targets that are well, slow, ill, mute or full in turn;
 * callers that leave, stop reading, or give little time; a driver that is late; attempts that fail while they are begun.
 * Checked are the laws that hold between calls: budgets, breakers, pauses that targets have asked for.
 */
import assert from "node:assert/strict";
import { Random, type SimClock } from "../../src/clock/index.ts";
import {
  CALL_POLICY,
  type CallDecision,
  type CallPolicy,
  type CallRoute,
  HEDGE_POLICY,
  plainFailure,
} from "../../src/policy/index.ts";
import {
  type CallTrace,
  type DrivenCall,
  drive,
  makeRoute,
  type Script,
  world,
} from "./call-world.ts";
import { at, MS, RARE_KINDS, S, statusScript } from "./random-script.ts";

/** A call without a deadline has no other end than the sum of what it may wait for. */
const LONGEST_US = 400 * S;
/** After these the same work may still run where it was sent. */
const MAYBE_RUNNING = new Set(["timeout_headers", "timeout_first_content", "stall_bytes"]);

/** @throws where a law is broken; the seed repeats it. */
export function playRandomRoute(seed: number): void {
  const route = new RandomRoute(seed);
  try {
    route.play();
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${String(thrown)}`, { cause: thrown });
  }
}

type Mood = "well" | "slow" | "ill" | "mute" | "full" | "odd";
const MOODS: readonly Mood[] = ["well", "well", "slow", "ill", "mute", "full", "odd"];

class RandomRoute {
  readonly #clock: SimClock;
  readonly #dice: Random;
  readonly #route: CallRoute;
  readonly #savedMax: number;
  readonly #hasLag: boolean;
  /** Only where slowness opens no breaker can it be said which targets may not be used. */
  readonly #isStrict: boolean;
  readonly #moods: Mood[];
  readonly #calls: DrivenCall[] = [];
  /** By target, the attempts that were let through as probes. */
  readonly #probes = new Map<number, Set<string>>();
  #offeredTokens = 0;
  #largest = 0;

  constructor(seed: number) {
    const { clock, random } = world(seed);
    const dice = new Random(seed, "route world");
    this.#clock = clock;
    this.#dice = dice;
    this.#savedMax = 1 + dice.int(20);
    this.#hasLag = dice.int(3) === 0;
    this.#isStrict = dice.int(2) === 0;
    const targets = 1 + dice.int(4);
    this.#route = makeRoute(random, {
      policy: this.#policy(),
      targets,
      orders: Array.from({ length: targets }, () => dice.int(2)),
      sharesLimits: dice.int(3) > 0,
      retryFill: dice.int(2),
      savedMax: this.#savedMax,
    });
    this.#moods = Array.from({ length: targets }, () => MOODS[dice.int(MOODS.length)]!);
    for (const target of this.#route.targets) {
      if (dice.int(2) === 0) continue;
      for (let i = 0; i < 25; i += 1) target.ttft.record(500, (50 + dice.int(300)) * MS);
    }
  }

  #policy(): Partial<CallPolicy> {
    const dice = this.#dice;
    return {
      deadlineUs: dice.int(3) === 0 ? 0 : (1 + dice.int(40)) * 500 * MS,
      timeouts: {
        connectUs: (1 + dice.int(2)) * 300 * MS,
        headersUs: (1 + dice.int(4)) * S,
        firstContentUs: dice.int(2) * 2 * S,
        lifeGapUs: (1 + dice.int(5)) * S,
        progressGapUs: 3 * S,
        thinkingGapUs: 6 * S,
      },
      retry: {
        ...CALL_POLICY.retry,
        attemptsMax: 1 + dice.int(4),
        share: [0, 0.1, 0.5][dice.int(3)]!,
      },
      hedge:
        dice.int(2) === 0
          ? null
          : { ...HEDGE_POLICY, share: [0.05, 0.5][dice.int(2)]!, sameTarget: dice.int(2) === 0 },
      breaker:
        dice.int(4) === 0
          ? null
          : {
              ...CALL_POLICY.breaker!,
              callsMin: 2 + dice.int(6),
              slowUs: this.#isStrict ? 1_000 * S : 0,
              slowShare: this.#isStrict ? 1 : 0.5,
              openUs: (1 + dice.int(5)) * S,
            },
    };
  }

  play(): void {
    const dice = this.#dice;
    const calls = 20 + dice.int(60);
    for (let i = 0; i < calls; i += 1) {
      this.#clock.runSync(this.#clock.nowUs() + dice.int(400) * MS);
      if (dice.int(8) === 0) this.#moods[dice.int(this.#moods.length)] = MOODS[dice.int(7)]!;
      this.#call();
    }
    this.#clock.runSync(this.#clock.nowUs() + LONGEST_US);
    for (const [at, trace] of this.#calls.entries()) this.#checkEnd(at, trace);
    this.#checkBudgets();
  }

  #call(): void {
    const dice = this.#dice;
    const inputTokens = dice.int(10) === 0 ? 20_000 : 100 + dice.int(900);
    this.#offeredTokens += inputTokens;
    this.#largest = Math.max(this.#largest, inputTokens);
    const number = this.#calls.length;
    const nowUs = this.#clock.nowUs();
    const trace = drive(
      this.#clock,
      this.#route,
      {
        inputTokens,
        isStream: dice.int(4) > 0,
        isRepeatable: dice.int(4) > 0,
        deadlineUs: dice.int(4) === 0 ? nowUs + dice.int(3_000) * MS : Number.POSITIVE_INFINITY,
      },
      (target) => this.#script(target),
      {
        ...(this.#hasLag && {
          lagUs: () => (dice.int(10) === 0 ? dice.int(5_000) * MS : dice.int(3) * MS),
        }),
        onDecision: (decision, of) => this.#check(number, decision, of),
      },
    );
    this.#calls.push(trace);
    this.#meddle(trace);
  }

  /** What its caller does meanwhile. */
  #meddle(trace: DrivenCall): void {
    const dice = this.#dice;
    const later = (run: () => void): void => {
      this.#clock.at(this.#clock.nowUs() + dice.int(4_000) * MS, run);
    };
    if (dice.int(6) === 0) later(() => trace.abandon());
    if (dice.int(3) > 0) return;
    later(() => {
      trace.pause();
      this.#clock.at(this.#clock.nowUs() + dice.int(20_000) * MS, () => trace.resume());
    });
  }

  #script(target: number): Script {
    const dice = this.#dice;
    switch (this.#moods[target]!) {
      case "well":
        return { headUs: 5 * MS, contentUs: 40 * MS + at(dice, 200), endUs: 2 * S };
      case "slow":
        return { headUs: 5 * MS, contentUs: 800 * MS + at(dice, 3_000), endUs: 9 * S };
      case "ill":
        return statusScript(dice, [500, 502, 503, 504]);
      case "full":
        return statusScript(dice, [429, 503, 529]);
      case "mute":
        return dice.int(2) === 0 ? { connectUs: Number.POSITIVE_INFINITY } : { headUs: 5 * MS };
      default: {
        const failure = plainFailure(RARE_KINDS[dice.int(RARE_KINDS.length)]!, 500);
        if (dice.int(3) === 0) return { notBegun: failure };
        const isLate = dice.int(2) === 0;
        return { headUs: 2 * MS, ...(isLate && { contentUs: 30 * MS }), endUs: 50 * MS, failure };
      }
    }
  }

  /** Before the decision is carried out; the call and its targets know of it already. */
  #check(number: number, decision: CallDecision, trace: CallTrace): void {
    if (decision.do !== "begin") return;
    const { attempt, target: index, cause } = decision;
    const nowUs = this.#clock.nowUs();
    const { records } = trace.call;
    const before = records.slice(0, attempt);
    const isRunningThere = before.some(
      ({ target, end }) => target === index && MAYBE_RUNNING.has(end ?? ""),
    );
    assert(!isRunningThere, "the same work goes to the same place");
    assert(before.every(({ end }) => end !== undefined) || cause === "hedge", "two at a time");
    if (!this.#isStrict || cause === "reuse_race") return;
    const target = this.#route.targets[index]!;
    assert(target.breakerAt(nowUs) !== "open", "an ill target is left alone");
    assert(target.availableUs <= nowUs, "a target that has asked for a pause has it");
    if (target.breakerAt(nowUs) !== "half-open") return;
    const probes = [...(this.#probes.get(index) ?? [])].filter((name) => this.#isLive(name));
    assert(probes.length === 0, "one probe at a time");
    this.#probes.set(index, new Set([`${number}/${attempt}`]));
  }

  #isLive(name: string): boolean {
    const [number, attempt] = name.split("/").map(Number);
    const record = this.#calls[number!]?.call.records[attempt!];
    // Its verdict falls with its first content; what follows is another matter.
    return record !== undefined && record.endedUs === undefined && record.contentUs === undefined;
  }

  #checkEnd(number: number, { call, endedUs, begins, failure, delivered }: CallTrace): void {
    assert(endedUs !== undefined, `call ${number} never ends`);
    if (!this.#hasLag) assert(endedUs <= call.deadlineUs, `call ${number} ends late`);
    const { attemptsMax } = this.#route.policy.retry;
    const counted = begins.filter(({ cause }) => cause !== "hedge" && cause !== "reuse_race");
    assert(counted.length <= attemptsMax, `call ${number} tries too often`);
    assert(begins.filter(({ cause }) => cause === "hedge").length <= 1, "one hedge");
    assert(begins.filter(({ cause }) => cause === "reuse_race").length <= 1, "one race of reuse");
    if (failure === undefined) return;
    assert.equal(failure.isAfterContent, delivered !== undefined, `call ${number} lies`);
  }

  #checkBudgets(): void {
    const { retries, hedges, policy } = this.#route;
    const causes = this.#calls.flatMap(({ begins }) => begins.map(({ cause }) => cause));
    const count = (...wanted: string[]): number =>
      causes.filter((cause) => wanted.includes(cause)).length;
    assert(count("retry", "failover") <= retries.spent, "every retry is paid for");
    assert.equal(count("hedge"), hedges.spent, "every hedge is paid for");
    const offered = this.#calls.length;
    for (const [budget, share] of [
      [retries, policy.retry.share],
      [hedges, policy.hedge?.share ?? 0],
    ] as const) {
      assert(budget.spent <= this.#savedMax + share * offered + 1e-6, "a share of the calls");
      const reserve = this.#savedMax * Math.max(2_000, this.#largest) + this.#largest;
      assert(budget.spentTokens <= reserve + share * this.#offeredTokens, "a share of the tokens");
    }
  }
}
