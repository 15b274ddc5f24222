/**
 * A workload against the twin in virtual time: open loop, every request at its intended start, as exact as the cost model
 * and repeatable to the microsecond. With several replicas requests go round robin, the way a plain load balancer sends
 * them. Tokens are stamped by the engine, so there is no network in these figures.
 */
import { SimClock } from "../clock/index.ts";
import { assert, lookUp, toManxError, US_PER_S } from "../core/index.ts";
import {
  buildEngine,
  type CostModel,
  describeConfig,
  type Engine,
  type EngineConfig,
  type EngineRequest,
  type EngineTotals,
  type PrefixCounters,
  type SpeculationTotals,
} from "../engine/index.ts";
import { ROUTERS, type RouterName } from "../policy/index.ts";
import { Histogram } from "../stats/index.ts";
import { METRIC_LABELS, type MetricName, toDistribution } from "./distribution.ts";
import type { ResultRun } from "./result-document.ts";
import type { WorkRequest } from "./work-request.ts";

export interface ReplayOptions {
  readonly name: string;
  readonly requests: readonly WorkRequest[];
  /** Where the requests come from, for the conditions: "Azure LLM 2023 conversation, one hour". */
  readonly workload: string;
  readonly arrivals: string;
  readonly config: EngineConfig;
  /** Engines of this config; default 1. */
  readonly replicas?: number;
  /** How requests are spread over the replicas; default round robin, as a plain load balancer does it. */
  readonly routing?: RouterName;
  /** Divides all intended starts: 2 offers the same requests at twice the rate. Default 1. */
  readonly speed?: number;
  readonly seed: number | null;
  readonly cost?: CostModel;
}

/** Per-request limits that make a request count as served well. */
export interface Budgets {
  readonly ttftUs: number;
  readonly tpotUs: number;
}

interface Track {
  readonly replica: number;
  previousUs: number;
  largestGapUs: number;
}

/** Everything that one replay measures, before it is put into the document's form. */
export interface Replay {
  readonly histograms: Readonly<Record<ReplayMetric, Histogram>>;
  readonly totals: EngineTotals;
  readonly prefix: PrefixCounters;
  /** Undefined if nothing was drafted. */
  readonly speculation: SpeculationTotals | undefined;
  readonly offered: number;
  readonly finished: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly metBudgets: number;
  /** From the first intended start to the last, and to the end of the last response. */
  readonly offeredUs: number;
  readonly endUs: number;
}

type ReplayMetric = Extract<
  MetricName,
  "ttftUs" | "itlUs" | "tpotUs" | "e2eUs" | "queueUs" | "largestGapUs"
>;

const METRICS: readonly ReplayMetric[] = [
  "ttftUs",
  "itlUs",
  "tpotUs",
  "e2eUs",
  "queueUs",
  "largestGapUs",
];

/** Runs the workload to the end of its last response. */
export function replay(options: ReplayOptions, budgets?: Budgets): Replay {
  const clock = new SimClock();
  const replicas = options.replicas ?? 1;
  const collect = new ReplayCollector(budgets, replicas);
  const engines = Array.from({ length: replicas }, () =>
    buildEngine(options.config, {
      clock,
      sink: collect,
      ...(options.cost !== undefined && { cost: options.cost }),
    }),
  );
  const router = lookUp(ROUTERS, options.routing ?? "round-robin", "routing")();
  const speed = options.speed ?? 1;
  assert(speed > 0, "a replay has a speed above zero");
  let next = 0;
  const sendNext = (): void => {
    const request = options.requests[next];
    if (request === undefined) return;
    const replica = router.pick({ prefixIds: request.blockHashes ?? [] }, collect.openTokens);
    next += 1;
    collect.submit(engines[replica]!, replica, request);
    scheduleNext();
  };
  // One timer at a time: a heap of all arrivals would be sorted again and again for nothing.
  const scheduleNext = (): void => {
    const request = options.requests[next];
    if (request !== undefined) clock.at(Math.round(request.atUs / speed), sendNext);
  };
  scheduleNext();
  clock.runSync();
  const lastUs = options.requests.at(-1)?.atUs ?? 0;
  return collect.result(engines, Math.round(lastUs / speed), clock.nowUs());
}

class ReplayCollector {
  readonly #budgets: Budgets | undefined;
  readonly #histograms = Object.fromEntries(
    METRICS.map((name) => [name, new Histogram()]),
  ) as Record<ReplayMetric, Histogram>;
  readonly #refused: Record<string, number> = {};
  /** By replica: prompt and output tokens of its open requests. */
  readonly openTokens: number[];
  #offered = 0;
  #finished = 0;
  #met = 0;

  constructor(budgets: Budgets | undefined, replicas: number) {
    this.#budgets = budgets;
    this.openTokens = new Array<number>(replicas).fill(0);
  }

  submit(engine: Engine, replica: number, request: WorkRequest): void {
    this.#offered += 1;
    try {
      const track: Track = { replica, previousUs: 0, largestGapUs: 0 };
      const { promptTokens, outputTokens, blockHashes } = request;
      engine.submit({ promptTokens, outputTokens, prefixIds: blockHashes }, track);
      this.openTokens[replica]! += promptTokens + outputTokens;
    } catch (thrown) {
      const { code } = toManxError(thrown);
      if (code === "MANX_INTERNAL") throw thrown;
      this.#refused[code] = (this.#refused[code] ?? 0) + 1;
    }
  }

  onToken(request: EngineRequest, nowUs: number, inStep: number): void {
    const track = request.tag as Track;
    const gapUs = nowUs - track.previousUs;
    // Of the tokens of one step, the first stands for all.
    if (request.generated > 1 && gapUs > 0) {
      if (inStep === 1) this.#histograms.itlUs.record(gapUs);
      else this.#recordSplit(gapUs, inStep);
      if (gapUs > track.largestGapUs) track.largestGapUs = gapUs;
    }
    track.previousUs = nowUs;
  }

  /** Tokens that come together have waited together: as many samples, in whole microseconds, that sum to the gap. */
  #recordSplit(gapUs: number, tokens: number): void {
    const base = Math.floor(gapUs / tokens);
    const larger = gapUs - base * tokens;
    for (let i = 0; i < tokens; i += 1) this.#histograms.itlUs.record(i < larger ? base + 1 : base);
  }

  onFinish(request: EngineRequest, nowUs: number): void {
    const { ttftUs, tpotUs, e2eUs, queueUs, largestGapUs } = this.#histograms;
    const firstUs = request.firstTokenUs - request.arrivedUs;
    this.#finished += 1;
    const { replica } = request.tag as Track;
    this.openTokens[replica]! -= request.promptTokens + request.outputTokens;
    ttftUs.record(firstUs);
    queueUs.record(request.scheduledUs - request.arrivedUs);
    e2eUs.record(nowUs - request.arrivedUs);
    let perTokenUs = 0;
    if (request.generated > 1) {
      perTokenUs = (request.lastTokenUs - request.firstTokenUs) / (request.generated - 1);
      tpotUs.record(perTokenUs);
      largestGapUs.record((request.tag as Track).largestGapUs);
    }
    const budgets = this.#budgets;
    if (budgets !== undefined && firstUs <= budgets.ttftUs && perTokenUs <= budgets.tpotUs) {
      this.#met += 1;
    }
  }

  result(engines: readonly Engine[], offeredUs: number, endUs: number): Replay {
    assert(
      this.#finished + sum(Object.values(this.#refused)) === this.#offered,
      "every request ends once",
    );
    return {
      histograms: this.#histograms,
      totals: addTotals(engines.map((engine) => engine.totals)),
      prefix: addPrefix(engines.map((engine) => engine.scheduler.prefix)),
      speculation: addSpeculation(engines.flatMap(({ scheduler }) => scheduler.speculation ?? [])),
      offered: this.#offered,
      finished: this.#finished,
      refused: this.#refused,
      metBudgets: this.#met,
      offeredUs,
      endUs,
    };
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function addTotals(all: readonly EngineTotals[]): EngineTotals {
  const added: EngineTotals = { ...all[0]! };
  for (const totals of all.slice(1)) {
    for (const key of Object.keys(added) as (keyof EngineTotals)[]) {
      added[key] =
        key === "lagUsMax" ? Math.max(added[key], totals[key]) : added[key] + totals[key];
    }
  }
  return added;
}

function addPrefix(all: readonly PrefixCounters[]): PrefixCounters {
  return addFields({ queriedTokens: 0, hitTokens: 0, reusedTokens: 0 }, all);
}

function addSpeculation(all: readonly SpeculationTotals[]): SpeculationTotals | undefined {
  const [first, ...rest] = all;
  return first === undefined ? undefined : addFields({ ...first }, rest);
}

function addFields<Totals extends object>(into: Totals, all: readonly Totals[]): Totals {
  const sums = into as unknown as Record<string, number>;
  for (const one of all) {
    for (const [name, value] of Object.entries(one)) sums[name]! += value;
  }
  return into;
}

/** The replay as a run of the result document. */
export function toResultRun(done: Replay, options: ReplayOptions, budgets?: Budgets): ResultRun {
  const { config, replicas = 1 } = options;
  const { histograms, totals } = done;
  const perS = (count: number): number =>
    done.offeredUs === 0 ? 0 : (count * US_PER_S) / done.offeredUs;
  return {
    name: options.name,
    world: "virtual",
    durationUs: done.endUs,
    seed: options.seed,
    conditions: {
      target: `twin: ${config.scheduling} batching, ${config.memory} KV`,
      measuredAt: "engine",
      arrivals: options.arrivals,
      workload: options.workload,
      offeredPerS: perS(done.offered),
      concurrencyCap: null,
      temperature: "warm",
      cacheMode: config.memory === "prefix" ? "on" : "off",
      setup: {
        ...describeConfig(config),
        replicas,
        routing: options.routing ?? "round-robin",
        costModel: options.cost?.name ?? "roofline",
      },
    },
    counts: {
      offered: done.offered,
      sent: done.offered,
      completed: done.finished,
      failed: done.offered - done.finished,
      empty: 0,
      failures: { ...done.refused },
    },
    metrics: Object.fromEntries(
      METRICS.map((name) => [name, toDistribution(histograms[name], METRIC_LABELS[name])]),
    ),
    gauges: replayGauges(done, totals),
    stalls: null,
    goodput:
      budgets === undefined
        ? null
        : {
            budgets: { ...budgets },
            met: done.metBudgets,
            perS: perS(done.metBudgets),
            shareOfOffered: done.offered === 0 ? 0 : done.metBudgets / done.offered,
          },
    verdicts: [],
  };
}

function replayGauges(done: Replay, totals: EngineTotals): ResultRun["gauges"] {
  const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
  const n = totals.steps;
  return {
    kvLiveShare: {
      title: "reserved KV that holds tokens of answers under way",
      unit: "share",
      value: share(totals.liveTokenSteps, totals.reservedTokenSteps),
      n,
      basis: "mean over steps",
    },
    kvReservedShare: {
      title: "KV memory set aside",
      unit: "share",
      value: share(totals.reservedTokenSteps, totals.totalTokenSteps),
      n,
      basis: "mean over steps",
    },
    batchSize: {
      title: "requests in a step",
      unit: "count",
      value: share(totals.requestSteps, totals.steps),
      n,
      basis: "mean over steps",
    },
    servedPerS: {
      title: "served until the last response",
      unit: "per-s",
      value: share(done.finished * US_PER_S, done.endUs),
      n: done.finished,
      basis: "finished requests over the whole run",
    },
    prefixHitShare: {
      title: "prompt tokens taken over from the prefix cache",
      unit: "share",
      value: share(done.prefix.hitTokens, done.prefix.queriedTokens),
      n: done.finished,
      basis: "first admissions only",
    },
    ...speculationGauges(done.speculation),
    preemptions: {
      title: "pre-emptions",
      unit: "count",
      value: totals.preemptions,
      n: done.offered,
      basis: "whole run",
    },
  };
}

function speculationGauges(speculation: SpeculationTotals | undefined): ResultRun["gauges"] {
  if (speculation === undefined) return {};
  const { draftedTokens, acceptedTokens, yieldedTokens, verifications } = speculation;
  return {
    draftAcceptance: {
      title: "drafted tokens that were accepted",
      unit: "share",
      value: draftedTokens === 0 ? null : acceptedTokens / draftedTokens,
      n: draftedTokens,
      basis: "all drafts of the run",
    },
    verificationTokens: {
      title: "tokens from a verification",
      unit: "count",
      value: verifications === 0 ? null : yieldedTokens / verifications,
      n: verifications,
      basis: "answers with drafts, once a step",
    },
  };
}
