/** Planted truth: logs that the twin makes with coefficients which the fit is not told, with noise on every time. */
import { describe, expect, it } from "vitest";
import {
  plantedArrivals as arrivals,
  PLANTED_CONFIG as CONFIG,
  type PlantedWorkload,
  plantedLog as planted,
  TRUE_REQUEST_US as REQUEST_US,
  TRUTH,
} from "../../../test/support/planted-engine.ts";
import { costOf, type EngineConfig, FittedCost } from "../../engine/index.ts";
import { fitCoefficients } from "./fit-coefficients.ts";
import { fitLog, type LogFit } from "./fit-log.ts";
import { LogEvidence } from "./log-evidence.ts";
import { LogReplay } from "./log-replay.ts";
import type { LoggedRequest } from "./request-log.ts";
import { nearestCoefficients } from "./start-coefficients.ts";

function fitTo(requests: readonly LoggedRequest[], replaysMax = 16): Promise<LogFit> {
  return fitLog({ requests, config: CONFIG, replaysMax });
}

function quantile(values: Float64Array, q: number): number {
  return Float64Array.from(values).sort()[Math.ceil(q * values.length) - 1]!;
}

/** Largest relative error of p50, p95 and p99 of TTFT and E2E under a load that the log does not have. */
function errorElsewhere(fit: LogFit, workload: PlantedWorkload): number {
  const replay = new LogReplay(arrivals(workload), CONFIG);
  const truth = replay.runPriced(new FittedCost(TRUTH), REQUEST_US);
  const ours = replay.runPriced(new FittedCost(fit.coefficients), fit.requestUs);
  const errors = [0.5, 0.95, 0.99].flatMap((q) => [
    Math.abs(quantile(ours.ttftUs, q) / quantile(truth.ttftUs, q) - 1),
    Math.abs(quantile(ours.e2eUs, q) / quantile(truth.e2eUs, q) - 1),
  ]);
  return Math.max(...errors);
}

describe("fitLog", () => {
  // Some hundred replays: seconds on a machine of one's own, and not on one that others use.
  it("finds planted prices from times with 3 % of noise, and predicts a load that the log lacks", {
    timeout: 120_000,
  }, async () => {
    const fit = await fitTo(planted({ n: 240, perS: 3, seed: 7 }, 0.03));
    const error = Object.fromEntries(fit.error.map((one) => [one.figure, one]));
    // The noise alone is 2 % in the median and 5 % at p90.
    expect(error.e2e!.n).toBe(240);
    expect(error.e2e!.medianPercent).toBeLessThan(3);
    expect(error.tpot!.p90Percent).toBeLessThan(7);
    // Where in a step one arrives is chance, and a step is a large part of a short wait.
    expect(error.ttft!.medianPercent).toBeLessThan(10);
    expect(fit.sheetError.find(({ figure }) => figure === "e2e")!.medianPercent).toBeGreaterThan(
      40,
    );
    expect(errorElsewhere(fit, { n: 400, perS: 4.5, seed: 8 })).toBeLessThan(0.1);
    const { stepUs, tokenUs } = fit.coefficients;
    expect(Math.abs(stepUs / TRUTH.stepUs - 1)).toBeLessThan(0.1);
    expect(Math.abs(tokenUs / TRUTH.tokenUs - 1)).toBeLessThan(0.15);
    const determined = fit.findings.filter((one) => one.determined).map(({ name }) => name);
    expect(determined).toEqual(expect.arrayContaining(["stepUs", "tokenUs"]));
  });

  it("uses the gaps between tokens where a log has them, and is judged on them too", async () => {
    const fit = await fitTo(planted({ n: 60, perS: 3, seed: 3 }, 0.02, true));
    expect(fit.error.map(({ figure }) => figure)).toEqual(["ttft", "tpot", "itl", "e2e"]);
    const itl = fit.error.find(({ figure }) => figure === "itl")!;
    expect(itl.n).toBeGreaterThan(2_000);
    expect(itl.medianPercent).toBeLessThan(5);
    expect(fit.error.find(({ figure }) => figure === "tpot")!.medianPercent).toBeLessThan(2);
  });

  it("says what a log cannot tell: nothing of batches from one request at a time", async () => {
    const alone = { n: 30, perS: 0.05, seed: 1, promptTokens: 64, outputTokens: 40 };
    const fit = await fitTo(planted(alone, 0.01), 8);
    const finding = Object.fromEntries(fit.findings.map((one) => [one.name, one]));
    expect(finding.stepUs).toMatchObject({ determined: true });
    for (const name of ["tokenUs", "decodeSequenceUs", "prefillContextTokenUs"] as const) {
      expect(finding[name], name).toMatchObject({ determined: false });
      expect(finding[name]!.why, name).not.toBe("");
    }
    expect(fit.error.find(({ figure }) => figure === "e2e")!.medianPercent).toBeLessThan(3);
  });

  it("gives the same document for the same log", async () => {
    const requests = planted({ n: 20, perS: 3, seed: 2 }, 0.05);
    expect(await fitTo(requests, 5)).toEqual(await fitTo(requests, 5));
  });

  it("does not look at what it holds back", async () => {
    const requests = planted({ n: 40, perS: 3, seed: 4 }, 0.02);
    const changed = requests.map((one, i) =>
      i < 30 ? one : { ...one, ttftUs: 10 * one.ttftUs, e2eUs: 10 * one.e2eUs },
    );
    const fitted = (
      log: readonly LoggedRequest[],
      seen: (i: number) => boolean,
    ): Promise<unknown> =>
      fitCoefficients({
        evidence: new LogEvidence(new LogReplay(log, CONFIG), seen),
        start: { coefficients: nearestCoefficients(costOf(CONFIG)), requestUs: 0 },
        strength: 1e-4,
        replaysMax: 12,
      });
    expect(await fitted(changed, (i) => i < 30)).toEqual(await fitted(requests, (i) => i < 30));
    expect(await fitted(changed, () => true)).not.toEqual(await fitted(requests, () => true));
  });

  it("refuses too few requests, and one that the engine could never hold", async () => {
    const requests = planted({ n: 12, perS: 1, seed: 1 }, 0);
    await expect(fitTo(requests.slice(0, 9))).rejects.toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
    );
    const config: EngineConfig = { ...CONFIG, kvTokens: 64 };
    await expect(fitLog({ requests, config, replaysMax: 5 })).rejects.toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_NEVER_FITS" }),
    );
    expect((await fitTo(requests, 5)).error).toEqual([]);
  });
});
