/**
 * Simulated engines with admission in front of them, in virtual time: open-loop requests of several classes and tenants,
 * and what each class waited for its first token, counted from its intended start. Who is let in goes to the engine with
 * the fewest open tokens.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import { US_PER_S } from "../../src/core/index.ts";
import {
  buildEngine,
  ENGINE_DEFAULTS,
  type Engine,
  type EngineConfig,
  type EngineSink,
} from "../../src/engine/index.ts";
import { Admission, type AdmissionOptions, LeastLoad } from "../../src/policy/index.ts";
import { Histogram } from "../../src/stats/index.ts";
import { AdmissionDriver } from "./admission-driver.ts";

export interface Arrival {
  readonly atUs: number;
  readonly tenant: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface LaneRun {
  /** From the intended start to the first token, µs, of requests up to `shortTokens` and of the others. */
  readonly short: Histogram;
  readonly long: Histogram;
  readonly refused: number;
  readonly endUs: number;
  /** Prompt and answer tokens by tenant, of what ended within the span in which requests came. */
  readonly servedTokens: ReadonlyMap<string, number>;
}

export interface LaneWorld {
  readonly arrivals: readonly Arrival[];
  readonly engines: number;
  readonly engine: Partial<EngineConfig>;
  readonly admission: AdmissionOptions;
  readonly shortTokens: number;
  /** False hides from admission whose request it is. Default true. */
  readonly knowsTenants?: boolean;
}

interface InHand {
  readonly arrival: Arrival;
  readonly id: number;
  sentUs: number;
  engine: number;
}

class LaneRunner {
  readonly #world: LaneWorld;
  readonly #clock = new SimClock();
  readonly #short = new Histogram();
  readonly #long = new Histogram();
  readonly #servedTokens = new Map<string, number>();
  readonly #inHand: readonly InHand[];
  readonly #engines: readonly Engine[];
  readonly #openTokens: number[];
  readonly #router = new LeastLoad();
  readonly #driver: AdmissionDriver;
  #refused = 0;

  constructor(world: LaneWorld) {
    this.#world = world;
    this.#inHand = world.arrivals.map((arrival, id) => ({ arrival, id, sentUs: 0, engine: 0 }));
    const sink: EngineSink = {
      onToken: ({ tag, generated }, nowUs) => {
        if (generated === 1) this.#first(tag as InHand, nowUs);
      },
      onFinish: ({ tag }, nowUs) => this.#finish(tag as InHand, nowUs),
    };
    const config = { ...ENGINE_DEFAULTS, ...world.engine };
    this.#engines = Array.from({ length: world.engines }, () =>
      buildEngine(config, { clock: this.#clock, sink }),
    );
    this.#openTokens = this.#engines.map(() => 0);
    this.#driver = new AdmissionDriver(this.#clock, new Admission(world.admission), {
      onAdmit: ({ id }) => this.#send(this.#inHand[id]!),
      onRefuse: () => {
        this.#refused += 1;
      },
    });
  }

  run(): LaneRun {
    for (const { arrival, id } of this.#inHand) {
      const { inputTokens, atUs } = arrival;
      const tenant = this.#world.knowsTenants === false ? "" : arrival.tenant;
      const limits = { outputTokensMax: undefined, deadlineUs: Number.POSITIVE_INFINITY };
      const request = { id, tenant, priority: 0, inputTokens, route: "model", ...limits };
      this.#clock.at(atUs, () => this.#driver.offer(request));
    }
    this.#clock.runSync();
    return {
      short: this.#short,
      long: this.#long,
      refused: this.#refused,
      endUs: this.#clock.nowUs(),
      servedTokens: this.#servedTokens,
    };
  }

  #send(one: InHand): void {
    const { inputTokens: promptTokens, outputTokens } = one.arrival;
    one.sentUs = this.#clock.nowUs();
    one.engine = this.#router.pick({ prefixIds: [] }, this.#openTokens);
    this.#openTokens[one.engine]! += promptTokens + outputTokens;
    this.#engines[one.engine]!.submit({ promptTokens, outputTokens }, one);
  }

  #first({ arrival, id, sentUs }: InHand, nowUs: number): void {
    const isShort = arrival.inputTokens <= this.#world.shortTokens;
    (isShort ? this.#short : this.#long).record(nowUs - arrival.atUs);
    this.#driver.firstContent(id, nowUs - sentUs);
  }

  #finish({ arrival, id, engine }: InHand, nowUs: number): void {
    const { inputTokens, outputTokens, tenant } = arrival;
    this.#openTokens[engine]! -= inputTokens + outputTokens;
    if (nowUs <= (this.#world.arrivals.at(-1)?.atUs ?? 0)) {
      const before = this.#servedTokens.get(tenant) ?? 0;
      this.#servedTokens.set(tenant, before + inputTokens + outputTokens);
    }
    this.#driver.finish(id, { inputTokens, outputTokens, ttftUs: undefined, ok: true });
  }
}

export function runLaneWorld(world: LaneWorld): LaneRun {
  return new LaneRunner(world).run();
}

export interface Mix {
  readonly seed: number;
  readonly perS: number;
  readonly seconds: number;
  /** Share of requests with a prompt of `longTokens`. */
  readonly longShare: number;
  readonly longTokens: number;
}

/** Poisson arrivals; short ones have 100 to 1,500 tokens of prompt, all have 50 to 250 of answer. */
export function mixedArrivals({ seed, perS, seconds, longShare, longTokens }: Mix): Arrival[] {
  const gaps = new Random(seed, "arrivals");
  const sizes = new Random(seed, "sizes");
  const kinds = new Random(seed, "kinds");
  const arrivals: Arrival[] = [];
  for (let atUs = 0; ; ) {
    atUs += Math.round(gaps.exponential(US_PER_S / perS));
    if (atUs > seconds * US_PER_S) return arrivals;
    const inputTokens = 100 + sizes.int(1_400);
    const outputTokens = 50 + sizes.int(200);
    const isLong = kinds.next() < longShare;
    arrivals.push({
      atUs,
      tenant: isLong ? "long" : "short",
      inputTokens: isLong ? longTokens : inputTokens,
      outputTokens,
    });
  }
}

/** Open loop over all tenants together; the first one sends half of all, the others share the rest alike. */
export function unequalArrivals(
  seed: number,
  perS: number,
  seconds: number,
  tenants: number,
): Arrival[] {
  const who = new Random(seed, "tenants");
  return mixedArrivals({ seed, perS, seconds, longShare: 0, longTokens: 0 }).map((arrival) => {
    const isBully = who.next() < 0.5;
    return { ...arrival, tenant: isBully ? "t0" : `t${1 + who.int(tenants - 1)}` };
  });
}

/** Jain, Chiu and Hawe 1984: (Σx)² / (n Σx²); 1 if all have the same, 1/n if one has everything. */
export function jainIndex(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  const squares = values.reduce((total, value) => total + value * value, 0);
  return (sum * sum) / (values.length * squares);
}

/** One queue for all, first come, first served: what most gateways have. */
export function fifo(limit: number): AdmissionOptions {
  const lane = { name: "all", tokensMax: NEVER, share: 0, tokensInFlightMax: NEVER };
  return { lanes: [lane], concurrency: { kind: "fixed", limit } };
}

export function twoLanes(limit: number, longTokensInFlightMax: number): AdmissionOptions {
  return {
    lanes: [
      { name: "short", tokensMax: 8_192, share: 0.5, tokensInFlightMax: NEVER },
      { name: "long", tokensMax: NEVER, share: 0, tokensInFlightMax: longTokensInFlightMax },
    ],
    concurrency: { kind: "fixed", limit },
  };
}

const NEVER = Number.POSITIVE_INFINITY;
