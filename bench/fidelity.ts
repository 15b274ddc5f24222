/**
 * How true the twin is to real engines, with the published simulators beside it. Run: npm run bench:fidelity, which first
 * repeats the recorded runs of Vidur (bench/parity-vidur.ts).
 *
 * 1. vLLM 0.19, two runs of 300 requests under one rule: each figure, then what would have been chosen on one run, scored
 *    on the other.
 * 2. vLLM 0.15, thirteen servers by published kernel tables: each stage predicted with constants chosen without its
 *    family; then servers that no choice ever saw. `--long` adds a third constant to the search (some minutes).
 *
 * The figures of others are cited: LLMServingSim's from its repository, BLIS's and AIConfigurator's from the published
 * validation record. They are not all of one kind: BLIS had seen none of these runs and starts from data sheets only.
 */
import {
  errorSummary,
  latencyTable,
  METRICS,
  mean,
  STATISTICS,
  signedErrors,
} from "../test/support/latency-table.ts";
import {
  chooseConstants,
  FIGURES,
  FITTED_RUNS,
  type Grid,
  leaveOneOut,
  type Prediction,
  predict,
  simulateGrid,
  summary,
} from "../test/support/transfer-fit.ts";
import { type ServedRun, servedRuns, type TransferRule } from "../test/support/vllm-0.15-runs.ts";
import {
  meanRequestError,
  publishedErrors,
  type Rule,
  type RunName,
  realKvPercent,
  realRequests,
  runTwin,
  VLLM_RULE,
} from "../test/support/vllm-0.19-runs.ts";

const RUNS: readonly RunName[] = ["rtx4090", "rtxpro6000"];
const LIMITS = { mean: 3, max: 10, request: 3 };

const percent = (value: number): string =>
  `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(1)} %`;
const verdict = (value: number, limit: number): string =>
  `${value.toFixed(2)} % (${value <= limit ? "within" : "ABOVE"} ${limit} %)`;

interface Score {
  readonly mean: number;
  readonly max: number;
  readonly request: number;
}

function scoreOf(run: RunName, rule: Rule, real = realRequests(run)): Score {
  const { requests } = runTwin(run, rule, real);
  const errors = errorSummary(signedErrors(latencyTable(requests), latencyTable(real)));
  return { ...errors, request: meanRequestError(requests, real) };
}

function printRun(run: RunName): void {
  const real = realRequests(run);
  const twin = runTwin(run, VLLM_RULE, real);
  const measured = latencyTable(real);
  const ours = latencyTable(twin.requests);
  const errors = signedErrors(ours, measured);
  const theirs = publishedErrors(run);
  console.log(`\nvLLM 0.19 on ${run}, Llama-3.1-8B, ${real.length} requests`);
  console.log("  figure          real ms     twin ms      twin   LLMServingSim");
  for (const metric of METRICS) {
    for (const name of STATISTICS) {
      const cells = [
        `  ${metric.slice(0, -2)} ${name}`.padEnd(14),
        measured[metric][name].toFixed(1).padStart(9),
        ours[metric][name].toFixed(1).padStart(12),
        percent(errors[metric][name]).padStart(10),
        percent(theirs[metric][name]).padStart(12),
      ];
      console.log(cells.join(""));
    }
  }
  const { mean: average, max } = errorSummary(errors);
  const published = errorSummary(theirs);
  console.log(`  mean of the fifteen   ${verdict(average, LIMITS.mean)}`);
  console.log(`  worst of the fifteen  ${verdict(max, LIMITS.max)}`);
  console.log(
    `  E2E by request        ${verdict(meanRequestError(twin.requests, real), LIMITS.request)}`,
  );
  console.log(
    `  LLMServingSim         ${published.mean.toFixed(2)} % mean, ${published.max.toFixed(2)} % worst`,
  );
  const { steps, preemptions } = twin.totals;
  console.log(
    `  ${steps} steps, ${preemptions} pre-emptions, end at ${(twin.endUs / 1e6).toFixed(2)} s`,
  );
  if (run === "rtx4090") printKv(twin.kvPercent);
}

function printKv(ours: readonly number[]): void {
  const real = realKvPercent();
  const n = Math.min(real.length, ours.length);
  const apart = mean(real.slice(0, n).map((value, i) => Math.abs(value - ours[i]!)));
  console.log(`  KV memory in use, ${n} seconds: ${apart.toFixed(1)} points apart on average`);
}

const scoreText = ({ mean: average, max, request }: Score): string =>
  `${average.toFixed(2)} / ${max.toFixed(2)} / ${request.toFixed(2)}`;

/** What the last two parts of the rule do. */
function printParts(): void {
  const bare = { ...VLLM_RULE, stepOverheadUs: 0 };
  const blind = (run: RunName) => realRequests(run).map((one) => ({ ...one, prefixIds: [] }));
  console.log("\nThe rule and its parts: mean / worst / by request, %");
  for (const [name, scores] of [
    ["the rule", RUNS.map((run) => scoreOf(run, VLLM_RULE))],
    ["without its constant", RUNS.map((run) => scoreOf(run, bare))],
    ["and blind to shared prefixes", RUNS.map((run) => scoreOf(run, bare, blind(run)))],
  ] as const) {
    console.log(
      `  ${name.padEnd(30)}${RUNS.map((run, i) => `${run} ${scoreText(scores[i]!)}`).join(", ")}`,
    );
  }
}

/** What would have been chosen with one run in view, on the other one. */
function printSwap(): void {
  console.log(
    "\nChosen on one run, scored on the other: chunks summed or each, overhead of a step",
  );
  const rules = (["summed", "each"] as const).flatMap((chunks) =>
    [0, 100, 200, 400, 800].map((stepOverheadUs) => ({ ...VLLM_RULE, chunks, stepOverheadUs })),
  );
  const scores = rules.map((rule) => ({
    rule,
    by: Object.fromEntries(RUNS.map((run) => [run, scoreOf(run, rule)])),
  }));
  for (const run of RUNS) {
    const best = scores.reduce((a, b) => (b.by[run]!.mean < a.by[run]!.mean ? b : a));
    const other = RUNS.find((name) => name !== run)!;
    const text = (name: RunName): string => `${name} ${scoreText(best.by[name]!)}`;
    console.log(
      `  on ${run}: ${best.rule.chunks}, ${best.rule.stepOverheadUs} µs  →  ${text(run)}, ${text(other)} % (mean / worst / by request)`,
    );
  }
}

/** Median (mean, max) over stages, in the order of FIGURES. */
const PUBLISHED: readonly (readonly [string, readonly string[]])[] = [
  [
    "BLIS, trained physics, the same runs",
    [
      "4.5 (8.6, 23.7)",
      "8.9 (12.3, 33.8)",
      "8.7 (10.9, 25.0)",
      "12.8 (14.5, 29.5)",
      "19.2 (33.1, 164)",
    ],
  ],
  [
    "BLIS, roofline, the same runs",
    ["35.3 (31.3, 64.4)", "26.8 (27.1, 61.7)", "46.2 (43.2, 67.2)", "670", "1,125"],
  ],
  ["AIConfigurator, runs 16 to 26", ["3.4 (8.2, 28.7)", "–", "13.7 (13.6, 21.7)", "500", "–"]],
  ["limit, median", ["3.5", "9", "4", "15", "–"]],
];

function printSummary(name: string, predictions: readonly Prediction[]): void {
  const cells = FIGURES.map((figure) => {
    const { median, mean: average, max } = summary(predictions, figure);
    return `${median.toFixed(1)} (${average.toFixed(1)}, ${max.toFixed(1)})`;
  });
  printRow(name, cells);
}

function printRow(name: string, cells: readonly string[]): void {
  console.log(`  ${name.padEnd(54)}${cells.map((cell) => cell.padEnd(20)).join("")}`);
}

function printStages(predictions: readonly Prediction[]): void {
  for (const { run, constants, errors } of predictions) {
    const chosen = `${constants.rule.stepOverheadUs} µs, ${constants.requestOverheadMs} ms`;
    errors.forEach((one, i) => {
      const name = `${run.id} ${run.family}, ${run.stages[i]!.ratePerS}/s (${chosen})`;
      printRow(
        name,
        FIGURES.map((figure) => percent(one[figure])),
      );
    });
  }
}

function rulesOf(sequenceOverheadsUs: readonly number[], ahead: boolean): TransferRule[] {
  return [0, 250, 500, 750, 1_000].flatMap((stepOverheadUs) =>
    sequenceOverheadsUs.map((sequenceOverheadUs) => ({
      stepOverheadUs,
      sequenceOverheadUs,
      ahead,
      share: 1,
    })),
  );
}

function printTransfer(): void {
  const all = servedRuns();
  const runs = all.filter(({ id }) => FITTED_RUNS.includes(id));
  const familyOf = (run: ServedRun): string => run.family;
  console.log(
    "\nvLLM 0.15 by kernel tables. Error of each stage, its family left out of the choice",
  );
  printRow("run, family, rate (constants)", FIGURES);
  const grid = simulateGrid(all, rulesOf([0], true));
  const predictions = leaveOneOut(grid, runs, familyOf);
  printStages(predictions);
  console.log("\n  |error|, median (mean, max) over fifteen stages");
  printRow("", FIGURES);
  printSummary("twin, leaving one family out", predictions);
  printSummary(
    "twin, leaving one run out",
    leaveOneOut(grid, runs, ({ id }) => id),
  );
  const inTime = simulateGrid(runs, rulesOf([0], false));
  printSummary("twin, family left out, steps not ahead", leaveOneOut(inTime, runs, familyOf));
  if (process.argv.includes("--long")) {
    const longer = simulateGrid(runs, rulesOf([0, 4.4, 8, 12, 16, 24, 32], true));
    printSummary("twin, family left out, third constant", leaveOneOut(longer, runs, familyOf));
  }
  for (const [name, cells] of PUBLISHED) printRow(name, cells);
  printUnseen(grid, runs, all);
}

function printUnseen(grid: Grid, runs: readonly ServedRun[], all: readonly ServedRun[]): void {
  const constants = chooseConstants(grid, runs);
  console.log("\n  Servers that no choice saw, with the constants of all fifteen stages");
  printStages(all.filter((run) => !runs.includes(run)).map((run) => predict(grid, run, constants)));
}

for (const run of RUNS) printRun(run);
printParts();
printSwap();
printTransfer();
