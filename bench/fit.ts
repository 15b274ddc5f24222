/**
 * How near `manx engine fit` comes to real engines on what it has not seen. Run: npm run bench:fit
 *
 * 1. vLLM 0.19, two logs of 300 requests: each quarter of a log predicted by a fit to the other three, beside the twin of
 *    the nearest data sheet and the twin priced by a profile of the machine's own kernels (which had not seen the log).
 * 2. vLLM 0.15, servers with two stages of load, of which only means are published: each stage predicted by a fit to
 *    the other one's mean TTFT, ITL and E2E.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { costOf, ENGINE_DEFAULTS, type EngineConfig, MODEL_NAMES } from "../src/engine/index.ts";
import { fitCoefficients } from "../src/explain/fit/fit-coefficients.ts";
import { type FigureError, FitComparison } from "../src/explain/fit/fit-error.ts";
import { fitLog } from "../src/explain/fit/fit-log.ts";
import { LogReplay } from "../src/explain/fit/log-replay.ts";
import type { MetricsWindow } from "../src/explain/fit/metrics-window.ts";
import { readRequestLog } from "../src/explain/fit/read-log.ts";
import type { LoggedRequest } from "../src/explain/fit/request-log.ts";
import { nearestCoefficients } from "../src/explain/fit/start-coefficients.ts";
import {
  ReplayedWindow,
  WindowEvidence,
  type WindowMeans,
} from "../src/explain/fit/window-evidence.ts";
import { interpolatedQuantile } from "../test/support/latency-table.ts";
import { type ServedRun, servedRuns, shapeOf } from "../test/support/vllm-0.15-runs.ts";
import { profileCost, type RunName, VLLM_RULE } from "../test/support/vllm-0.19-runs.ts";

/** As its log and meta.json say; the sheet is the nearest that there is. */
const LOGS: readonly { run: RunName; gpu: string; sequencesMax: number; kvTokens: number }[] = [
  { run: "rtxpro6000", gpu: "a100-80gb-sxm", sequencesMax: 128, kvTokens: 36_577 * 16 },
  { run: "rtx4090", gpu: "l40s", sequencesMax: 256, kvTokens: 2_587 * 16 },
];
const VLLM: EngineConfig = {
  ...ENGINE_DEFAULTS,
  ahead: true,
  admission: "step",
  memory: "prefix",
  pieceTokens: 16,
};
const REPLAYS_MAX = 24;

function readLog(run: RunName): readonly LoggedRequest[] {
  const path = new URL(`../data/vllm-0.19-runs/${run}/requests.jsonl.gz`, import.meta.url);
  return readRequestLog(gunzipSync(readFileSync(path)).toString("utf8"), run).requests;
}

function printErrors(name: string, errors: readonly FigureError[]): void {
  const cells = errors.map(
    ({ figure, medianPercent, p90Percent }) =>
      `${figure} ${medianPercent.toFixed(1)} / ${p90Percent.toFixed(1)}`,
  );
  console.log(`  ${name.padEnd(34)}${cells.map((cell) => cell.padEnd(20)).join("")}`);
}

async function printLog({
  run,
  gpu,
  sequencesMax,
  kvTokens,
}: (typeof LOGS)[number]): Promise<void> {
  const requests = readLog(run);
  const config: EngineConfig = { ...VLLM, gpu, sequencesMax, kvTokens, contextMax: 32_768 };
  const startMs = performance.now();
  const fit = await fitLog({ requests, config, replaysMax: REPLAYS_MAX });
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
  const n = fit.error[0]?.n ?? 0;
  console.log(`\nvLLM 0.19 on ${run}: |error| by request, median / p90, %, n ${n}`);
  printErrors("fitted, each quarter unseen", fit.error);
  printErrors(`data sheet of ${gpu}`, fit.sheetError);
  const profiled = new LogReplay(requests, config).runPriced(profileCost(run, VLLM_RULE), 0);
  const comparison = new FitComparison();
  for (const [i, request] of requests.entries()) {
    comparison.add(request, { ttftUs: profiled.ttftUs[i]!, e2eUs: profiled.e2eUs[i]! });
  }
  printErrors("profile of its own kernels", comparison.errors());
  const untold = fit.findings.filter((one) => !one.determined).map(({ name }) => name);
  console.log(
    `  not told by the log: ${untold.join(", ")}; ${fit.replays} replays in ${seconds} s`,
  );
}

/** Of a stage: enough for its means, not all of it. */
const STAGE_REQUESTS = 1_500;
const WARM_UP = 300;

function windowOf(run: ServedRun, stage: number): ReplayedWindow {
  const { ratePerS, real } = run.stages[stage]!;
  const count = Math.min(STAGE_REQUESTS, Math.round(ratePerS * run.stages[stage]!.durationS));
  const requests = Array.from({ length: count }, (_, i): LoggedRequest => {
    const { promptTokens, outputTokens, prefixIds = [] } = shapeOf(run, i % run.prompts);
    const atUs = Math.round((i * 1e6) / ratePerS);
    return { row: i + 1, atUs, promptTokens, outputTokens, prefixIds, ttftUs: 1, e2eUs: 1 };
  });
  const told = (ms: number, n: number) => ({ ends: [], counts: [], sum: (ms / 1e3) * n, count: n });
  const window: MetricsWindow = {
    seconds: count / ratePerS,
    requests: count,
    ttft: told(real.ttftMean, count),
    itl: told(real.itlMean, count * (run.outputTokens - 1)),
    e2e: told(real.e2eMean, count),
    promptTokens: undefined,
    outputTokens: undefined,
    promptTokensMean: run.promptTokens,
    outputTokensMean: run.outputTokens,
  };
  const config: EngineConfig = {
    ...VLLM,
    gpu: run.gpu,
    model: run.model.name,
    ranks: run.ranks,
    sequencesMax: 128,
    tokensMax: run.tokensMax,
    kvTokens: 25_000 * 16,
    contextMax: 4_096,
  };
  return new ReplayedWindow(window, { requests, from: Math.min(WARM_UP, count >> 2) }, config);
}

const MEANS = ["ttftUs", "itlUs", "e2eUs"] as const;

interface StageErrors {
  readonly fitted: WindowMeans;
  readonly sheet: WindowMeans;
}

async function printStages(): Promise<void> {
  console.log(
    "\nvLLM 0.15: each stage predicted by a fit to the other one's means, error of the mean, %",
  );
  const upwards: StageErrors[] = [];
  const downwards: StageErrors[] = [];
  for (const run of servedRuns()) {
    if (run.stages.length !== 2 || !MODEL_NAMES.includes(run.model.name)) continue;
    const [low, high] = [windowOf(run, 0), windowOf(run, 1)];
    upwards.push(await printStage(run, low, high, 1));
    downwards.push(await printStage(run, high, low, 0));
  }
  printMedians("from the lower load to the higher", upwards);
  printMedians("from the higher load to the lower", downwards);
}

async function printStage(
  run: ServedRun,
  seen: ReplayedWindow,
  unseen: ReplayedWindow,
  stage: number,
): Promise<StageErrors> {
  const cost = costOf(seen.config);
  const fit = await fitCoefficients({
    evidence: new WindowEvidence([seen]),
    start: { coefficients: nearestCoefficients(cost), requestUs: 0 },
    strength: 1e-3,
    replaysMax: 12,
  });
  const real = unseen.measured();
  const fitted = off(unseen.means(unseen.replay.run(fit.coefficients, fit.requestUs)), real);
  const sheet = off(unseen.means(unseen.replay.runPriced(cost, 0)), real);
  const name = `${run.id} ${run.family}, ${run.stages[stage]!.ratePerS}/s`;
  console.log(`  ${name.padEnd(40)}${shown(fitted)}   data sheet ${shown(sheet)}`);
  return { fitted, sheet };
}

function printMedians(name: string, errors: readonly StageErrors[]): void {
  const medians = (of: keyof StageErrors): string =>
    MEANS.map((figure) => {
      const all = errors.map((one) => Math.abs(one[of][figure]));
      return interpolatedQuantile(all, 0.5).toFixed(1);
    }).join(" / ");
  console.log(
    `  ${name}: median |error| of TTFT / ITL / E2E ${medians("fitted")}, data sheet ${medians("sheet")} (n ${errors.length})`,
  );
}

function off(ours: WindowMeans, real: WindowMeans): WindowMeans {
  const percent = (name: (typeof MEANS)[number]): number => 100 * (ours[name] / real[name] - 1);
  return { ttftUs: percent("ttftUs"), itlUs: percent("itlUs"), e2eUs: percent("e2eUs") };
}

function shown(errors: WindowMeans): string {
  return MEANS.map((name) => `${name.slice(0, -2)} ${errors[name].toFixed(1).padStart(6)}`).join(
    "  ",
  );
}

for (const log of LOGS) await printLog(log);
await printStages();
