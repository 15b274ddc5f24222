/**
 * `manx engine fit --metrics`: from two or three looks at an engine's /metrics to prices of steps. With three, the last
 * interval is held back and predicted by a fit to those before it; with two there is nothing to hold back, and only what
 * was not fitted (the quantiles) says anything about the fit. Arrivals and pairs of lengths are assumed: a log says more.
 */
import { type CostModel, costOf, FittedCost } from "../../engine/index.ts";
import { sampleQuantile } from "../../stats/index.ts";
import { findingsOf } from "./finding.ts";
import { type FitOutcome, type FitState, fitCoefficients } from "./fit-coefficients.ts";
import { type FitDetails, fittedDocument } from "./fit-details.ts";
import type { FittedDocument } from "./fitted-document.ts";
import type { PageHistogram } from "./metrics-page.ts";
import type { MetricsWindow } from "./metrics-window.ts";
import { nearestCoefficients } from "./start-coefficients.ts";
import { ReplayedWindow, WindowEvidence } from "./window-evidence.ts";
import { bucketQuantile, windowRequests } from "./window-requests.ts";

export interface FitMetricsOptions extends FitDetails {
  /** In order of time, 1 to `WINDOWS_MAX`. */
  readonly windows: readonly MetricsWindow[];
  readonly source: string;
  /** Of the requests that stand for the windows'. */
  readonly seed: number;
  /** What was noticed about the pages. */
  readonly notes: readonly string[];
}

/** Means are exact, but there are three of them a window: close enough to meet them, no closer. */
const STRENGTH = 1e-3;
/** Planted means were met within 3 % from so many, within 25 % from a fifth of them. */
const MANY = 1_000;
const QUANTILES = [0.5, 0.9, 0.99] as const;

/** @throws as `fitLog` does. */
export async function fitMetrics(options: FitMetricsOptions): Promise<FittedDocument> {
  const { config, seed, source, notes } = options;
  const windows = options.windows.map((window, i) => {
    return new ReplayedWindow(window, windowRequests(window, seed + i), config);
  });
  const sheet = costOf(config);
  const start: FitState = { coefficients: nearestCoefficients(sheet), requestUs: 0 };
  const isHeldBack = windows.length > 1;
  const before = isHeldBack ? await fitTo(windows.slice(0, -1), start, options) : undefined;
  const all = await fitTo(windows, start, options);
  const findings = findingsOf({ all, byBlock: before === undefined ? [] : [before], start });
  const requests = windows.reduce((sum, { window }) => sum + Math.round(window.requests), 0);
  return fittedDocument(
    options,
    all,
    findings,
    { source, requests },
    {
      error: [],
      quantiles: figuresOf(windows.at(-1)!, before ?? all, sheet),
      sheetError: [],
      notes: [...notes, ...assumptions(options.windows, isHeldBack)],
    },
  );
}

function fitTo(
  windows: readonly ReplayedWindow[],
  start: FitState,
  { replaysMax, onProgress }: FitMetricsOptions,
): Promise<FitOutcome> {
  let replays = 0;
  return fitCoefficients({
    evidence: new WindowEvidence(windows),
    start,
    strength: STRENGTH,
    replaysMax,
    onReplay: async (loss) => {
      replays += 1;
      const text = `fit ${windows.length} intervals: replay ${replays}, off by ${(100 * loss).toFixed(1)} %`;
      await onProgress?.(text, replays / replaysMax);
    },
  });
}

/** Means and quantiles of a window: what was measured, the fitted twin, the data sheet's. */
function figuresOf(
  judged: ReplayedWindow,
  { coefficients, requestUs }: FitState,
  sheet: CostModel,
): FittedDocument["quantiles"] {
  const twin = judged.replay.runPriced(new FittedCost(coefficients), requestUs);
  const untouched = judged.replay.runPriced(sheet, 0);
  const real = judged.measured();
  const [ours, sheets] = [judged.means(twin), judged.means(untouched)];
  const { window } = judged;
  const n = Math.round(window.requests);
  const means = (["ttft", "itl", "e2e"] as const)
    .filter((figure) => real[`${figure}Us`] > 0)
    .map((figure) => ({
      figure,
      q: null,
      n: figure === "itl" ? Math.round(window.itl.count) : n,
      beyond: n,
      logUs: real[`${figure}Us`],
      twinUs: ours[`${figure}Us`],
      sheetUs: sheets[`${figure}Us`],
    }));
  const [times, sheetTimes] = [judged.times(twin), judged.times(untouched)];
  const quantiles = (["ttft", "e2e"] as const).flatMap((figure) =>
    QUANTILES.flatMap((q) => {
      const logUs = 1e6 * quantileOf(window[figure], q);
      if (!(logUs > 0)) return [];
      const { value, beyond } = sampleQuantile(times[figure], q);
      const sheetUs = sampleQuantile(sheetTimes[figure], q).value;
      return [{ figure, q, n, beyond, logUs, twinUs: value, sheetUs }];
    }),
  );
  return [...means, ...quantiles];
}

function quantileOf(histogram: PageHistogram | undefined, q: number): number {
  return histogram === undefined ? Number.NaN : bucketQuantile(histogram, q);
}

function assumptions(windows: readonly MetricsWindow[], isHeldBack: boolean): string[] {
  const hasLengths = windows.every(
    ({ promptTokens, outputTokens }) => promptTokens !== undefined && outputTokens !== undefined,
  );
  const fewest = Math.round(Math.min(...windows.map(({ requests }) => requests)));
  return [
    ...(fewest < MANY
      ? [`only ${fewest} requests in an interval: ${MANY} make means worth it`]
      : []),
    isHeldBack
      ? "the figures are of the last interval, predicted by a fit to those before it"
      : "means were fitted, quantiles were not; take a third look to have an interval held back",
    "assumed: Poisson arrivals, prompt and answer lengths independent, prefix cache without hits",
    "quantiles of the engine are interpolated within its buckets; its means are exact",
    ...(hasLengths
      ? []
      : ["the engine tells no lengths but means: all requests are taken as equally long"]),
  ];
}
