/**
 * What guardrails have cost over many calls: per rail, and per path that a call took, since the price of the rare path and
 * the tax on everybody are two figures. Reports of several processes merge; each percentile carries its n.
 *
 * The tax of a call is what its caller waited longer: the longer one of what the first and the last of the answer were held,
 * and for a reformulation all of the round that was refused.
 */

import type { GuardStage, Verdict } from "../../policy/guard/index.ts";
import {
  Histogram,
  type HistogramJson,
  histogramQuantile,
  type Quantile,
} from "../../stats/index.ts";
import type { CallPath, GuardCheck, GuardReport } from "./guard-report.ts";
import type { RailParts } from "./rail.ts";

export interface TaxQuantiles {
  readonly p50: Quantile;
  readonly p95: Quantile;
  readonly p99: Quantile;
}

export interface PathTax {
  readonly path: CallPath;
  readonly calls: number;
  /** All in µs. What was added to TTFVT, over calls that released something. */
  readonly firstHeld: TaxQuantiles;
  /** What was added to the end, over calls that got there. */
  readonly lastHeld: TaxQuantiles;
  readonly tax: TaxQuantiles;
}

export interface RailTax {
  readonly rail: string;
  readonly stage: GuardStage;
  readonly checks: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** µs of one check; a part's n is the checks that told it. */
  readonly took: TaxQuantiles;
  readonly parts: Readonly<Partial<Record<keyof RailParts, TaxQuantiles>>>;
}

export interface BudgetReview {
  readonly budgetUs: number;
  /** p95 of the tax over all calls. */
  readonly used: Quantile;
  /** Of the budget; 1.25 is a quarter more than there is. */
  readonly usedShare: number;
  readonly verdict: "pass" | "fail";
}

interface PathHistograms {
  calls: number;
  readonly firstHeld: Histogram;
  readonly lastHeld: Histogram;
  readonly tax: Histogram;
}

interface RailHistograms {
  readonly rail: string;
  readonly stage: GuardStage;
  readonly verdicts: Record<Verdict, number>;
  readonly took: Histogram;
  readonly parts: Partial<Record<keyof RailParts, Histogram>>;
}

export interface TaxReportJson {
  readonly schemaVersion: 1;
  readonly paths: readonly {
    readonly path: CallPath;
    readonly calls: number;
    readonly firstHeldUs: HistogramJson;
    readonly lastHeldUs: HistogramJson;
    readonly taxUs: HistogramJson;
  }[];
  readonly rails: readonly {
    readonly rail: string;
    readonly stage: GuardStage;
    readonly verdicts: Readonly<Record<Verdict, number>>;
    readonly tookUs: HistogramJson;
    readonly parts: Readonly<Partial<Record<keyof RailParts, HistogramJson>>>;
  }[];
}

const PATHS: readonly CallPath[] = ["clean", "flagged", "refused", "reformulated", "failed", "cut"];
const PARTS = ["networkUs", "queueUs", "loadUs", "decodeUs"] as const;
/** Of p95 end to end that safety may take, where nothing else is agreed. */
const SAFETY_SHARE = 0.1;
/** Further names are one. */
const RAILS_MAX = 256;
const OTHERS = "(others)";

/** @param reports of calls, such as each `outcome` resolves with. */
export function taxReport(reports: Iterable<GuardReport>): TaxReport {
  const whole = new TaxReport();
  for (const report of reports) whole.add(report);
  return whole;
}

export class TaxReport {
  readonly #paths = new Map<CallPath, PathHistograms>();
  readonly #rails = new Map<string, RailHistograms>();

  add({ path, firstHeldUs, lastHeldUs, refusedUs, checks }: GuardReport): void {
    const of = this.#pathOf(path);
    of.calls += 1;
    if (firstHeldUs !== null) of.firstHeld.record(firstHeldUs);
    if (lastHeldUs !== null) of.lastHeld.record(lastHeldUs);
    of.tax.record(Math.max(firstHeldUs ?? 0, lastHeldUs ?? 0) + refusedUs);
    for (const check of checks) this.#addCheck(check);
  }

  merge(other: TaxReport): void {
    for (const [path, from] of other.#paths) {
      const into = this.#pathOf(path);
      into.calls += from.calls;
      into.firstHeld.merge(from.firstHeld);
      into.lastHeld.merge(from.lastHeld);
      into.tax.merge(from.tax);
    }
    for (const from of other.#rails.values()) {
      const into = this.#railOf(from.rail, from.stage);
      for (const [verdict, count] of Object.entries(from.verdicts)) {
        into.verdicts[verdict as Verdict] += count;
      }
      into.took.merge(from.took);
      for (const part of PARTS) {
        const times = from.parts[part];
        if (times !== undefined) partOf(into, part).merge(times);
      }
    }
  }

  /** Paths that were taken, the ordinary ones first. */
  get paths(): readonly PathTax[] {
    return PATHS.flatMap((path) => {
      const of = this.#paths.get(path);
      if (of === undefined) return [];
      const { calls, firstHeld, lastHeld, tax } = of;
      const held = { firstHeld: quantiles(firstHeld), lastHeld: quantiles(lastHeld) };
      return [{ path, calls, ...held, tax: quantiles(tax) }];
    });
  }

  get rails(): readonly RailTax[] {
    return [...this.#rails.values()].map(({ rail, stage, verdicts, took, parts }) => {
      const told = PARTS.filter((part) => parts[part] !== undefined);
      return {
        rail,
        stage,
        checks: took.n,
        verdicts: { ...verdicts },
        took: quantiles(took),
        parts: Object.fromEntries(told.map((part) => [part, quantiles(parts[part]!)])),
      };
    });
  }

  /**
   * Whether safety keeps to its budget: p95 of the tax over all calls, of whatever path, against a share of p95 end to end.
   * @param share above 0; default a tenth.
   */
  review(endToEndP95Us: number, share = SAFETY_SHARE): BudgetReview {
    const all = new Histogram();
    for (const { tax } of this.#paths.values()) all.merge(tax);
    const used = histogramQuantile(all, 0.95);
    const budgetUs = endToEndP95Us * share;
    const usedShare = used.value / budgetUs;
    // Nothing measured is no pass.
    return { budgetUs, used, usedShare, verdict: usedShare <= 1 ? "pass" : "fail" };
  }

  toJSON(): TaxReportJson {
    return {
      schemaVersion: 1,
      paths: [...this.#paths].map(([path, { calls, firstHeld, lastHeld, tax }]) => ({
        path,
        calls,
        firstHeldUs: firstHeld.toJSON(),
        lastHeldUs: lastHeld.toJSON(),
        taxUs: tax.toJSON(),
      })),
      rails: [...this.#rails.values()].map(({ rail, stage, verdicts, took, parts }) => {
        const told = PARTS.filter((part) => parts[part] !== undefined);
        const times = told.map((part) => [part, parts[part]!.toJSON()]);
        const of = { rail, stage, verdicts: { ...verdicts }, tookUs: took.toJSON() };
        return { ...of, parts: Object.fromEntries(times) };
      }),
    };
  }

  static fromJSON(json: TaxReportJson): TaxReport {
    const report = new TaxReport();
    for (const { path, calls, firstHeldUs, lastHeldUs, taxUs } of json.paths) {
      const into = report.#pathOf(path);
      into.calls += calls;
      into.firstHeld.merge(Histogram.fromJSON(firstHeldUs));
      into.lastHeld.merge(Histogram.fromJSON(lastHeldUs));
      into.tax.merge(Histogram.fromJSON(taxUs));
    }
    for (const { rail, stage, verdicts, tookUs, parts } of json.rails) {
      const into = report.#railOf(rail, stage);
      Object.assign(into.verdicts, verdicts);
      into.took.merge(Histogram.fromJSON(tookUs));
      for (const part of PARTS) {
        const times = parts[part];
        if (times !== undefined) partOf(into, part).merge(Histogram.fromJSON(times));
      }
    }
    return report;
  }

  #addCheck({ rail, stage, verdict, tookUs, parts }: GuardCheck): void {
    const into = this.#railOf(rail, stage);
    into.verdicts[verdict] += 1;
    into.took.record(tookUs);
    for (const part of PARTS) {
      const us = parts[part];
      if (us !== undefined) partOf(into, part).record(us);
    }
  }

  #pathOf(path: CallPath): PathHistograms {
    let of = this.#paths.get(path);
    if (of === undefined) {
      const times = { firstHeld: new Histogram(), lastHeld: new Histogram(), tax: new Histogram() };
      of = { calls: 0, ...times };
      this.#paths.set(path, of);
    }
    return of;
  }

  #railOf(rail: string, stage: GuardStage): RailHistograms {
    const name =
      this.#rails.size < RAILS_MAX || this.#rails.has(`${stage} ${rail}`) ? rail : OTHERS;
    const key = `${stage} ${name}`;
    let of = this.#rails.get(key);
    if (of === undefined) {
      const verdicts = { clean: 0, flag: 0, unsure: 0, failed: 0 };
      of = { rail: name, stage, verdicts, took: new Histogram(), parts: {} };
      this.#rails.set(key, of);
    }
    return of;
  }
}

function partOf(of: RailHistograms, part: keyof RailParts): Histogram {
  of.parts[part] ??= new Histogram();
  return of.parts[part];
}

function quantiles(histogram: Histogram): TaxQuantiles {
  const at = (q: number): Quantile => histogramQuantile(histogram, q);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
