/**
 * Windows of metrics as evidence for a fit. Only means are looked at, since only sums and counts are exact: mean TTFT, mean
 * gap between tokens, mean E2E. That is three rows a window for eight numbers, so most of them stay near the data sheet.
 */
import type { EngineConfig } from "../../engine/index.ts";
import type { FitEvidence, FitState } from "./fit-coefficients.ts";
import { type FitRow, OUTSIDE } from "./fit-rows.ts";
import { type LedgerReplay, LogReplay, type ReplayedLog } from "./log-replay.ts";
import type { PageHistogram } from "./metrics-page.ts";
import type { MetricsWindow } from "./metrics-window.ts";
import { COLUMNS } from "./step-ledger.ts";
import type { WindowRequests } from "./window-requests.ts";

export interface WindowMeans {
  readonly ttftUs: number;
  readonly itlUs: number;
  readonly e2eUs: number;
}

/** One window with the requests that stand for it. */
export class ReplayedWindow {
  readonly window: MetricsWindow;
  /** Of the engine, long enough for the longest request. */
  readonly config: EngineConfig;
  readonly replay: LogReplay;
  readonly #workload: WindowRequests;

  /** @throws as `LogReplay` does. */
  constructor(window: MetricsWindow, workload: WindowRequests, config: EngineConfig) {
    this.window = window;
    this.#workload = workload;
    const { requests } = workload;
    const longest = requests.reduce(
      (most, { promptTokens, outputTokens }) => Math.max(most, promptTokens + outputTokens),
      config.contextMax,
    );
    this.config = { ...config, contextMax: longest };
    this.replay = new LogReplay(requests, this.config);
  }

  /** Of what was measured; of E2E NaN where the engine does not tell it. */
  measured(): WindowMeans {
    const { ttft, itl, e2e } = this.window;
    return { ttftUs: meanUs(ttft), itlUs: meanUs(itl), e2eUs: meanUs(e2e) };
  }

  means(twin: ReplayedLog): WindowMeans {
    const { ttftUs, gapsUs, gaps, e2eUs, n } = this.#sums(twin);
    return { ttftUs: ttftUs / n, itlUs: gapsUs / Math.max(1, gaps), e2eUs: e2eUs / n };
  }

  /** Of each request that stands for the window, µs, ascending. */
  times(twin: ReplayedLog): { readonly ttft: Float64Array; readonly e2e: Float64Array } {
    const { from } = this.#workload;
    return { ttft: twin.ttftUs.slice(from).sort(), e2e: twin.e2eUs.slice(from).sort() };
  }

  *rows(twin: LedgerReplay, requestUs: number): Generator<FitRow> {
    const { requests, from } = this.#workload;
    const x = new Float64Array(COLUMNS + 1);
    const [waits, answers] = [new Float64Array(COLUMNS + 1), new Float64Array(COLUMNS + 1)];
    for (let i = from; i < requests.length; i += 1) {
      const { atUs } = requests[i]!;
      const firstUs = atUs + twin.ttftUs[i]! - requestUs;
      twin.ledger.between(atUs, firstUs, x);
      addTo(waits, x);
      twin.ledger.between(firstUs, atUs + twin.e2eUs[i]! - requestUs, x);
      addTo(answers, x);
    }
    const { gaps, n } = this.#sums(twin);
    const [ours, real] = [this.means(twin), this.measured()];
    const row = (sums: Float64Array, by: number, outside: number): Float64Array => {
      const means = sums.map((sum) => sum / by);
      means[OUTSIDE] = outside;
      return means;
    };
    yield { x: row(waits, n, 1), logUs: real.ttftUs, twinUs: ours.ttftUs, weight: 1 };
    if (gaps === 0) return;
    yield { x: row(answers, gaps, 0), logUs: real.itlUs, twinUs: ours.itlUs, weight: 1 };
    if (!(real.e2eUs > 0)) return;
    addTo(answers, waits);
    yield { x: row(answers, n, 1), logUs: real.e2eUs, twinUs: ours.e2eUs, weight: 1 };
  }

  #sums(twin: ReplayedLog): Record<"ttftUs" | "gapsUs" | "gaps" | "e2eUs" | "n", number> {
    const { requests, from } = this.#workload;
    const sums = { ttftUs: 0, gapsUs: 0, gaps: 0, e2eUs: 0, n: requests.length - from };
    for (let i = from; i < requests.length; i += 1) {
      sums.ttftUs += twin.ttftUs[i]!;
      sums.e2eUs += twin.e2eUs[i]!;
      sums.gapsUs += twin.e2eUs[i]! - twin.ttftUs[i]!;
      sums.gaps += requests[i]!.outputTokens - 1;
    }
    return sums;
  }
}

export class WindowEvidence implements FitEvidence<readonly LedgerReplay[]> {
  readonly #windows: readonly ReplayedWindow[];

  constructor(windows: readonly ReplayedWindow[]) {
    this.#windows = windows;
  }

  run({ coefficients, requestUs }: FitState): readonly LedgerReplay[] {
    return this.#windows.map(({ replay }) => replay.run(coefficients, requestUs));
  }

  *rows(twins: readonly LedgerReplay[], requestUs: number): Generator<FitRow> {
    for (const [i, window] of this.#windows.entries()) yield* window.rows(twins[i]!, requestUs);
  }

  loss(twins: readonly LedgerReplay[]): number {
    const apart = this.#windows.flatMap((window, i) => {
      const [ours, real] = [window.means(twins[i]!), window.measured()];
      return (["ttftUs", "itlUs", "e2eUs"] as const)
        .filter((name) => real[name] > 0)
        .map((name) => Math.abs(Math.log(Math.max(1, ours[name]) / real[name])));
    });
    return apart.reduce((sum, one) => sum + one, 0) / Math.max(1, apart.length);
  }
}

function meanUs(histogram: PageHistogram | undefined): number {
  if (histogram === undefined || histogram.count < 1) return Number.NaN;
  return (1e6 * histogram.sum) / histogram.count;
}

function addTo(sums: Float64Array, x: Float64Array): void {
  for (let i = 0; i < COLUMNS; i += 1) sums[i]! += x[i]!;
}
