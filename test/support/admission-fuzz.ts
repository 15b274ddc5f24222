/**
 * Random use of an `Admission`, watched from outside: every decision is checked against what a caller knows, and every
 * limit after every call. One seed fixes the options and all that happens.
 */
import { Random } from "../../src/clock/index.ts";
import { assert, US_PER_MS, US_PER_S } from "../../src/core/index.ts";
import {
  Admission,
  type AdmissionOptions,
  type AdmissionRequest,
  type Decision,
  type LaneSnapshot,
} from "../../src/policy/index.ts";

const NEVER = Number.POSITIVE_INFINITY;
const TENANTS = ["a", "b", "c", "d", "e"];

export interface FuzzTotals {
  offered: number;
  admitted: number;
  refused: number;
  cancelled: number;
  finished: number;
  /** Checks of work conservation that could have failed: somebody waited. */
  pressed: number;
}

function options(random: Random): AdmissionOptions {
  const chance = (share: number): boolean => random.next() < share;
  const floor = 2 + random.int(6);
  return {
    lanes: [
      { name: "short", tokensMax: 1_000, share: random.next() / 2, tokensInFlightMax: NEVER },
      { name: "mid", tokensMax: 5_000, share: random.next() / 4, tokensInFlightMax: NEVER },
      {
        name: "long",
        tokensMax: NEVER,
        share: random.next() / 4,
        tokensInFlightMax: chance(0.5) ? 20_000 : NEVER,
      },
    ],
    concurrency: chance(0.5)
      ? { kind: "fixed", limit: 3 + random.int(12) }
      : {
          kind: "adaptive",
          floor: Math.max(3, floor),
          start: floor + 4,
          ceiling: floor + 20,
          tolerance: 1.5,
          probeEveryUs: 5 * US_PER_S,
        },
    queueMax: 1 + random.int(40),
    tenantQueueFactor: chance(0.5) ? 8 : 0.5,
    ageMaxUs: (1 + random.int(20)) * US_PER_S,
    ageingUs: (1 + random.int(3_000)) * US_PER_MS,
    tenantsMax: 1 + random.int(6),
    ...(chance(0.3) && { tenant: { concurrencyMax: 1 + random.int(4) } }),
    ...(chance(0.4) && {
      tenants: { a: { tokensPerMinute: 60_000, burstTokens: 5_000 }, b: { weight: 3 } },
    }),
  };
}

class Fuzz {
  readonly totals: FuzzTotals = {
    offered: 0,
    admitted: 0,
    refused: 0,
    cancelled: 0,
    finished: 0,
    pressed: 0,
  };
  readonly #random: Random;
  readonly #options: AdmissionOptions;
  readonly #machine: Admission;
  readonly #state = new Map<number, "waiting" | "running">();
  readonly #requests = new Map<number, AdmissionRequest>();
  readonly #defers: boolean;
  #nowUs = 0;
  #limitMax = 0;
  #inHandMax = 0;

  constructor(seed: number) {
    this.#random = new Random(seed, "admission-fuzz");
    this.#options = options(this.#random);
    this.#defers = this.#random.next() < 0.5;
    this.#machine = new Admission(this.#options);
  }

  run(steps: number): void {
    for (let id = 1; id <= steps; id += 1) {
      this.#pass(Math.floor(this.#random.exponential(80 * US_PER_MS)));
      const dice = this.#random.next();
      if (dice < 0.5) this.#offer(id);
      else this.#touch(dice);
      this.#check();
    }
    while (this.#state.size > 0) {
      for (const [id, state] of this.#state) if (state === "running") this.#finish(id);
      this.#pass(US_PER_S);
      this.#check();
    }
    const { inFlight, lanes, tenants } = this.#machine.snapshot(this.#nowUs);
    assert(inFlight === 0 && tenants.length === 0, "nothing is left");
    for (const lane of lanes) {
      assert(lane.queued === 0 && Math.abs(lane.tokensInFlight) < 1e-6, `${lane.name} is empty`);
    }
    assert(this.#machine.nextDueUs === NEVER, "nothing is due");
    const { offered, admitted, refused, cancelled, finished } = this.totals;
    assert(offered === refused + cancelled + finished, "each ends once");
    assert(admitted >= finished, "only what was admitted finishes");
  }

  #offer(id: number): void {
    const random = this.#random;
    const size = random.next();
    const hasDeadline = random.next() < 0.3;
    const request: AdmissionRequest = {
      id,
      tenant: random.next() < 0.5 ? "a" : TENANTS[random.int(TENANTS.length)]!,
      priority: random.int(20),
      inputTokens: Math.floor(size < 0.7 ? random.int(800) : random.int(12_000)),
      outputTokensMax: random.next() < 0.5 ? undefined : 1 + random.int(400),
      route: `r${random.int(3)}`,
      // Some are over before they come.
      deadlineUs: hasDeadline ? this.#nowUs + random.int(8 * US_PER_S) - US_PER_S : NEVER,
    };
    this.totals.offered += 1;
    this.#requests.set(id, request);
    // An event loop that is busy reads a request before its timer fires.
    const isLate = random.next() < 0.1;
    if (isLate) this.#nowUs += random.int(3 * US_PER_S);
    const decision = this.#machine.offer(request, this.#nowUs);
    assert(decision.id === id, "an offer is about itself");
    this.#state.set(id, "waiting");
    this.#apply([decision]);
    if (isLate) this.#apply(this.#machine.advance(this.#nowUs));
  }

  /** Something happens to one that is in hand, or to one that is not. */
  #touch(dice: number): void {
    const ids = [...this.#state.keys()];
    const id = ids[this.#random.int(ids.length)];
    if (id === undefined || dice < 0.52) {
      for (const stray of [-1, 10 ** 9]) {
        assert(this.#machine.cancel(stray, this.#nowUs).length === 0, "strays are ignored");
        assert(this.#machine.defer(stray, 1, this.#nowUs).length === 0, "strays are ignored");
      }
      return;
    }
    const isRunning = this.#state.get(id) === "running";
    if (dice < 0.6) {
      this.#state.delete(id);
      this.totals.cancelled += 1;
      this.#apply(this.#machine.cancel(id, this.#nowUs));
    } else if (dice < 0.65 && isRunning && this.#defers) {
      this.#state.set(id, "waiting");
      this.totals.admitted -= 1;
      const untilUs = this.#nowUs + this.#random.int(4 * US_PER_S);
      this.#apply(this.#machine.defer(id, untilUs, this.#nowUs));
    } else if (dice < 0.75 && isRunning) {
      this.#apply(this.#machine.firstContent(id, this.#ttftUs(), this.#nowUs));
    } else if (isRunning) this.#finish(id);
  }

  #finish(id: number): void {
    const { inputTokens } = this.#requests.get(id)!;
    this.#state.delete(id);
    this.totals.finished += 1;
    const ok = this.#random.next() < 0.9;
    const outputTokens = this.#random.int(600);
    const ttftUs = ok ? this.#ttftUs() : undefined;
    this.#apply(this.#machine.finish(id, { inputTokens, outputTokens, ttftUs, ok }, this.#nowUs));
  }

  #ttftUs(): number {
    return 1_000 + this.#random.int(500 * US_PER_MS);
  }

  /** Usually on time for what is due, sometimes late, as a busy event loop is. */
  #pass(us: number): void {
    const endUs = this.#nowUs + us;
    if (this.#random.next() < 0.2) this.#nowUs = endUs;
    for (let left = 10_000; this.#machine.nextDueUs <= endUs; left -= 1) {
      assert(left > 0, "time moves on");
      this.#nowUs = Math.max(this.#nowUs, this.#machine.nextDueUs);
      this.#apply(this.#machine.advance(this.#nowUs));
      assert(this.#machine.nextDueUs > this.#nowUs, "what was due is done");
    }
    this.#nowUs = endUs;
  }

  #apply(decisions: readonly Decision[]): void {
    for (const decision of decisions) {
      assert(
        this.#state.get(decision.id) === "waiting",
        `${decision.kind} is about one that waits`,
      );
      if (decision.kind === "admit") {
        this.totals.admitted += 1;
        this.#state.set(decision.id, "running");
        assert(this.#requests.get(decision.id)!.deadlineUs > this.#nowUs, "nobody starts too late");
      } else if (decision.kind === "refuse") {
        this.totals.refused += 1;
        this.#state.delete(decision.id);
        assert(Number.isSafeInteger(decision.retryAfterUs), "a Retry-After is whole µs");
      }
    }
  }

  #check(): void {
    const snapshot = this.#machine.snapshot(this.#nowUs, NEVER);
    const { lanes, tenants, inFlight, concurrencyLimit } = snapshot;
    this.#limitMax = Math.max(this.#limitMax, concurrencyLimit);
    assert(inFlight <= this.#limitMax + lanes.length - 1, "in flight is within the limit");
    const running = [...this.#state.values()].filter((state) => state === "running").length;
    assert(snapshot.admitted === this.totals.admitted, "each admission is counted once");
    assert(inFlight === running, "those in flight are those that were admitted");
    const queued = lanes.reduce((sum, lane) => sum + lane.queued, 0);
    assert(queued === this.#state.size - running, "those that wait are those that were queued");
    for (const lane of lanes) {
      // One that was called and comes back takes its place again.
      const back = this.#defers ? this.#limitMax : 0;
      assert(lane.queued <= this.#options.queueMax! + back, "a queue is bounded");
      assert(lane.oldestUs <= this.#options.ageMaxUs!, "nobody waits for too long");
      const cap = this.#options.lanes!.find((one) => one.name === lane.name)!.tokensInFlightMax;
      assert(lane.tokensInFlight <= cap || lane.inFlight === 1, "tokens of a lane are capped");
    }
    const concurrencyMax = this.#options.tenant?.concurrencyMax ?? NEVER;
    for (const tenant of tenants)
      assert(tenant.inFlight <= concurrencyMax, "a tenant's limit holds");
    this.#inHandMax = Math.max(this.#inHandMax, this.#state.size + 1);
    const tenantsMax = this.#options.tenantsMax! + this.#inHandMax;
    assert(snapshot.tenantsKnown <= tenantsMax, "tenants are bounded");
    if (queued > 0) this.#checkConserving(lanes, concurrencyLimit);
  }

  /** Where no limit of a tenant or of tokens can be the reason, nobody waits beside a free place. */
  #checkConserving(lanes: readonly LaneSnapshot[], limit: number): void {
    const { tenants, tenant } = this.#options;
    if (this.#defers || tenants !== undefined || tenant !== undefined) return;
    const taken = lanes.reduce((sum, one) => sum + Math.max(one.inFlight, one.guaranteed), 0);
    for (const lane of lanes.slice(0, 2)) {
      if (lane.queued === 0) continue;
      this.totals.pressed += 1;
      const isFull = lane.inFlight >= lane.guaranteed && taken >= limit;
      assert(isFull, `${lane.name} waits for a place`);
    }
  }
}

/** @throws with the broken invariant, and the seed and steps that break it again */
export function fuzzAdmission(seed: number, steps: number): FuzzTotals {
  const fuzz = new Fuzz(seed);
  try {
    fuzz.run(steps);
  } catch (thrown) {
    throw new Error(`fuzzAdmission(${seed}, ${steps}): ${String(thrown)}`, { cause: thrown });
  }
  return fuzz.totals;
}
