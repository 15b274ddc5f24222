/**
 * Everything that one replay measures, request by request, from the engine's own events. Invariant: every request that was
 * offered ends once, finished or refused.
 */
import { assert, toManxError } from "../core/index.ts";
import type {
  EngineRequest,
  EngineTotals,
  HandoverTotals,
  PrefixCounters,
  Serving,
  SpeculationTotals,
  SwapTotals,
} from "../engine/index.ts";
import { Histogram } from "../stats/index.ts";
import type { MetricName } from "./distribution.ts";
import type { WorkRequest } from "./work-request.ts";

/** Per-request limits that make a request count as served well. */
export interface Budgets {
  readonly ttftUs: number;
  readonly tpotUs: number;
}

interface Track {
  readonly replica: number;
  readonly pendingTokens: number;
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
  /** Undefined if those that are thrown out are computed again. */
  readonly swaps: SwapTotals | undefined;
  /** Undefined without pools. */
  readonly handovers: HandoverTotals | undefined;
  /** By engine, prefill engines first: µs in steps. */
  readonly busyUs: readonly number[];
  readonly offered: number;
  readonly finished: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly metBudgets: number;
  /** From the first intended start to the last, and to the end of the last response. */
  readonly offeredUs: number;
  readonly endUs: number;
}

export type ReplayMetric = Extract<
  MetricName,
  "ttftUs" | "itlUs" | "tpotUs" | "e2eUs" | "queueUs" | "largestGapUs" | "handoverUs"
>;

export const REPLAY_METRICS: readonly ReplayMetric[] = [
  "ttftUs",
  "itlUs",
  "tpotUs",
  "e2eUs",
  "queueUs",
  "largestGapUs",
  "handoverUs",
];

export class ReplayCollector {
  readonly #budgets: Budgets | undefined;
  readonly #requestUs: number;
  readonly #histograms = Object.fromEntries(
    REPLAY_METRICS.map((name) => [name, new Histogram()]),
  ) as Record<ReplayMetric, Histogram>;
  readonly #refused: Record<string, number> = {};
  /** By replica: prompt and output tokens of its open requests. */
  readonly openTokens: number[];
  /** By replica: prompt tokens to be computed of the requests that have no token yet. */
  readonly pendingTokens: number[];
  #offered = 0;
  #finished = 0;
  #met = 0;

  /** @param requestUs that a request takes outside of the engine's steps: a part of TTFT and of E2E. */
  constructor(budgets: Budgets | undefined, replicas: number, requestUs = 0) {
    this.#budgets = budgets;
    this.#requestUs = Math.round(requestUs);
    this.openTokens = new Array<number>(replicas).fill(0);
    this.pendingTokens = new Array<number>(replicas).fill(0);
  }

  /** @param newTokens prompt tokens that the replica is thought to have to compute; default all. */
  submit(
    serving: Serving,
    replica: number,
    request: WorkRequest,
    newTokens = request.promptTokens,
  ): void {
    this.#offered += 1;
    try {
      const track: Track = { replica, pendingTokens: newTokens, previousUs: 0, largestGapUs: 0 };
      const { promptTokens, outputTokens, blockHashes: prefixIds, priority, tenant } = request;
      const shape = { promptTokens, outputTokens, prefixIds, priority, tenant };
      serving.submit(replica, shape, track);
      this.openTokens[replica]! += promptTokens + outputTokens;
      this.pendingTokens[replica]! += newTokens;
    } catch (thrown) {
      const { code } = toManxError(thrown);
      if (code === "MANX_INTERNAL") throw thrown;
      this.#refused[code] = (this.#refused[code] ?? 0) + 1;
    }
  }

  onToken(request: EngineRequest, nowUs: number, inStep: number): void {
    const track = request.tag as Track;
    const gapUs = nowUs - track.previousUs;
    if (request.generated === 1) this.pendingTokens[track.replica]! -= track.pendingTokens;
    // Of the tokens of one step, the first stands for all.
    if (request.generated > 1 && gapUs > 0) {
      if (inStep === 1) this.#histograms.itlUs.record(gapUs);
      else this.#recordSplit(gapUs, inStep);
      if (gapUs > track.largestGapUs) track.largestGapUs = gapUs;
    }
    track.previousUs = nowUs;
  }

  onTransfer(_: EngineRequest, readyUs: number, __: number, endUs: number): void {
    this.#histograms.handoverUs.record(endUs - readyUs);
  }

  /** Tokens that come together have waited together: as many samples, in whole microseconds, that sum to the gap. */
  #recordSplit(gapUs: number, tokens: number): void {
    const base = Math.floor(gapUs / tokens);
    const larger = gapUs - base * tokens;
    for (let i = 0; i < tokens; i += 1) this.#histograms.itlUs.record(i < larger ? base + 1 : base);
  }

  onFinish(request: EngineRequest, nowUs: number): void {
    const { ttftUs, tpotUs, e2eUs, queueUs, largestGapUs } = this.#histograms;
    const firstUs = request.firstTokenUs - request.arrivedUs + this.#requestUs;
    this.#finished += 1;
    const { replica } = request.tag as Track;
    this.openTokens[replica]! -= request.promptTokens + request.outputTokens;
    ttftUs.record(firstUs);
    queueUs.record(request.scheduledUs - request.arrivedUs);
    e2eUs.record(nowUs - request.arrivedUs + this.#requestUs);
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

  result({ entries, engines, handovers }: Serving, offeredUs: number, endUs: number): Replay {
    assert(
      this.#finished + sum(Object.values(this.#refused)) === this.#offered,
      "every request ends once",
    );
    return {
      histograms: this.#histograms,
      totals: addTotals(engines.map((engine) => engine.totals)),
      prefix: addPrefix(entries.map((engine) => engine.scheduler.prefix)),
      speculation: addAlike(engines.flatMap(({ scheduler }) => scheduler.speculation ?? [])),
      swaps: addAlike(engines.flatMap(({ scheduler }) => scheduler.host?.totals ?? [])),
      handovers,
      busyUs: engines.map(({ totals }) => totals.busyUs),
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

function addAlike<Totals extends object>(all: readonly Totals[]): Totals | undefined {
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
