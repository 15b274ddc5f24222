/**
 * How far the twin is from a log: relative errors request by request (and gap by gap where the log has them), and the same
 * quantiles of both side by side. An error is never given without the number of requests behind it.
 */
import { type Quantile, sampleQuantile } from "../../stats/index.ts";
import { type LoggedRequest, tpotUsOf } from "./request-log.ts";

export const FIT_FIGURES = ["ttft", "tpot", "itl", "e2e"] as const;
export type FitFigure = (typeof FIT_FIGURES)[number];

/** What the twin says of one request, µs; gaps only if they were asked for. */
export interface TwinTimes {
  readonly ttftUs: number;
  readonly e2eUs: number;
  readonly gapsUs?: readonly number[];
}

export interface FigureError {
  readonly figure: FitFigure;
  readonly n: number;
  /** Of |twin / log − 1|, %. */
  readonly medianPercent: number;
  readonly p90Percent: number;
}

export interface FigureQuantile {
  readonly figure: FitFigure;
  readonly q: number;
  readonly n: number;
  /** Values beyond it; below ten the figure says more about luck than about the tail. */
  readonly beyond: number;
  readonly logUs: number;
  readonly twinUs: number;
}

const QUANTILES = [0.5, 0.95, 0.99] as const;

/** Pairs of what the log and what the twin says, by figure. */
export class FitComparison {
  readonly #log: Record<FitFigure, number[]> = { ttft: [], tpot: [], itl: [], e2e: [] };
  readonly #twin: Record<FitFigure, number[]> = { ttft: [], tpot: [], itl: [], e2e: [] };

  add(real: LoggedRequest, twin: TwinTimes): void {
    this.#pair("ttft", real.ttftUs, twin.ttftUs);
    this.#pair("e2e", real.e2eUs, twin.e2eUs);
    const tpotUs = tpotUsOf(real);
    const twinTpotUs = tpotUsOf({ ...twin, outputTokens: real.outputTokens });
    if (tpotUs !== undefined && twinTpotUs !== undefined) this.#pair("tpot", tpotUs, twinTpotUs);
    const { gapsUs = [] } = real;
    for (const [i, gapUs] of gapsUs.entries()) {
      const twinUs = twin.gapsUs?.[i];
      if (twinUs !== undefined) this.#pair("itl", gapUs, twinUs);
    }
  }

  errors(): FigureError[] {
    return FIT_FIGURES.flatMap((figure) => {
      const twin = this.#twin[figure];
      // A gap of nothing is two tokens of one read: it has no relative error.
      const off = this.#log[figure].flatMap((us, i) => {
        return us > 0 ? [Math.abs(twin[i]! / us - 1)] : [];
      });
      if (off.length === 0) return [];
      const sorted = Float64Array.from(off).sort();
      const percent = (q: number): number => 100 * sampleQuantile(sorted, q).value;
      return [{ figure, n: off.length, medianPercent: percent(0.5), p90Percent: percent(0.9) }];
    });
  }

  quantiles(): FigureQuantile[] {
    return FIT_FIGURES.flatMap((figure) => {
      const log = Float64Array.from(this.#log[figure]).sort();
      const twin = Float64Array.from(this.#twin[figure]).sort();
      if (log.length === 0) return [];
      return QUANTILES.map((q) => {
        const real: Quantile = sampleQuantile(log, q);
        const { n, beyond, value } = real;
        return { figure, q, n, beyond, logUs: value, twinUs: sampleQuantile(twin, q).value };
      });
    });
  }

  #pair(figure: FitFigure, logUs: number, twinUs: number): void {
    this.#log[figure].push(logUs);
    this.#twin[figure].push(twinUs);
  }
}
