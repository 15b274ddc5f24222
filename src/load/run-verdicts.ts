/**
 * May this run be believed? Four questions that a load tool must answer about itself before its percentiles mean
 * anything, and one about the budgets.
 */
import { formatUs } from "../core/index.ts";
import type { Histogram } from "../stats/index.ts";
import { histogramQuantile } from "../stats/index.ts";
import { BUDGET_NAMES } from "./budgets.ts";
import type { Collector } from "./collector.ts";
import type { ResultVerdict } from "./result-document.ts";

export interface VerdictInputs {
  readonly loopLag: Histogram;
  readonly concurrencyMax: number | null;
  readonly errorRateMax: number;
  readonly goodputMin: number;
}

/** Schedule lag that no run is marked for, whatever it measures: a host timer's own resolution. */
const SCHEDULE_LAG_US = 1_000;
/** The same for the event loop, whose samples hold the lag of the host's timers. */
const LOOP_LAG_US = 10_000;
const LAG_SHARE = 0.05;

export function runVerdicts(collector: Collector, inputs: VerdictInputs): ResultVerdict[] {
  const verdicts = [
    clientVerdict(collector, inputs.concurrencyMax),
    loopVerdict(collector, inputs.loopLag),
    errorVerdict(collector, inputs.errorRateMax),
  ];
  if (Object.keys(collector.budgets).length > 0) {
    verdicts.push(budgetVerdict(collector, inputs.goodputMin));
  }
  return verdicts;
}

/** Median of what the lag is held against: as the server gave it, since the lag itself is in the figures from intent. */
function servedP50Us(collector: Collector): number {
  const { serviceTtftUs, serviceE2eUs } = collector.histograms;
  const served = serviceTtftUs ?? serviceE2eUs;
  return served === undefined ? 0 : histogramQuantile(served, 0.5).value;
}

function clientVerdict(collector: Collector, concurrencyMax: number | null): ResultVerdict {
  const lag = collector.histograms.scheduleLagUs;
  const name = "client";
  if (lag === undefined) return { name, status: "unknown", text: "no request was sent" };
  const lagUs = histogramQuantile(lag, 0.99).value;
  const limitUs = Math.max(SCHEDULE_LAG_US, LAG_SHARE * servedP50Us(collector));
  const measured = `schedule lag p99 ${formatUs(lagUs)}, limit ${formatUs(limitUs)}`;
  if (lagUs <= limitUs) return { name, status: "pass", text: measured };
  const text =
    concurrencyMax !== null
      ? `closed loop in effect: requests waited for the cap of ${concurrencyMax}; ${measured}`
      : `client-limited: this machine sent late; ${measured}`;
  return { name, status: "unknown", text };
}

/** A lag of half a gap turns one gap into another; a lag of 5 % of TTFT is in TTFT. */
function loopVerdict(collector: Collector, loopLag: Histogram): ResultVerdict {
  const name = "event-loop";
  if (loopLag.n === 0) return { name, status: "pass", text: "too short a run to sample" };
  const lagUs = histogramQuantile(loopLag, 0.99).value;
  const gaps = collector.histograms.chunkGapUs;
  const gapUs =
    gaps === undefined ? Number.POSITIVE_INFINITY : histogramQuantile(gaps, 0.5).value / 2;
  const limitUs = Math.max(LOOP_LAG_US, Math.min(gapUs, LAG_SHARE * servedP50Us(collector)));
  const measured = `event-loop lag p99 ${formatUs(lagUs)}, limit ${formatUs(limitUs)}`;
  if (lagUs <= limitUs) return { name, status: "pass", text: measured };
  return { name, status: "unknown", text: `this process stamped reads late; ${measured}` };
}

function errorVerdict(collector: Collector, errorRateMax: number): ResultVerdict {
  const over = collector.completed + collector.failed;
  const rate = over === 0 ? 0 : collector.failed / over;
  const classes = Object.entries(collector.failures).map(([name, count]) => `${name} ${count}`);
  const counted = classes.length === 0 ? "" : ` (${classes.join(", ")})`;
  const text = `${collector.failed} of ${over} failed${counted}, limit ${percent(errorRateMax)}`;
  const isKnown = over > 0 && rate <= errorRateMax;
  return { name: "errors", status: isKnown ? "pass" : "unknown", text };
}

function budgetVerdict(collector: Collector, goodputMin: number): ResultVerdict {
  const over = collector.completed + collector.failed;
  const share = over === 0 ? 0 : collector.met / over;
  const limits = Object.values(BUDGET_NAMES)
    .filter(({ name }) => collector.budgets[name] !== undefined)
    .map(({ name, title }) => `${title} ≤ ${formatUs(collector.budgets[name]!)}`);
  return {
    name: "budgets",
    status: share >= goodputMin ? "pass" : "fail",
    text: `${collector.met} of ${over} offered met ${limits.join(", ")}; needed ${percent(goodputMin)}`,
  };
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(4))} %`;
}
