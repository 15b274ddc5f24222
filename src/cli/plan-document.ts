/** What `manx engine plan` has found as a result document: the best three side by side, and why it is not another. */
import { formatUs } from "../core/index.ts";
import type { FittedCostText } from "../engine/index.ts";
import type { EnginePlan, PlanCandidate } from "../explain/index.ts";
import type {
  RequestBudgets,
  ResultComparison,
  ResultComparisonRow,
  ResultDocument,
  Trace,
} from "../load/index.ts";
import type { PlanFlags } from "./engine-plan-command.ts";
import type { Io } from "./io.ts";

type Load = typeof import("../load/index.ts");
type Explain = typeof import("../explain/index.ts");

/** The recommendation and the next best two. */
const SHOWN = 3;

export interface PlanParts {
  readonly load: Load;
  readonly explain: Explain;
  readonly plan: EnginePlan;
  readonly flags: PlanFlags;
  readonly given: FittedCostText | undefined;
  readonly limits: RequestBudgets;
  readonly trace: Trace;
  readonly startedMs: number;
  readonly io: Io;
}

export function planDocument(parts: PlanParts): ResultDocument {
  const { load, explain, plan, flags, trace, startedMs, io } = parts;
  const shown = plan.candidates.slice(0, SHOWN);
  const best = shown[0]!;
  const info = (text: string): ResultDocument["notes"][number] => ({ level: "info", text });
  const notes: ResultDocument["notes"] = [
    ...plan.losers.map(({ lever, candidate, why }) =>
      info(`not ${lever} (${explain.planHead(candidate)}): ${why}`),
    ),
    info(`looked at ${plan.looked} configurations in virtual time`),
    info(`as flags: ${explain.engineFlags(best)}`),
    ...costNotes(parts).map(info),
    ...plan.impossible.map(({ ranks, why }) => info(`${ranks} GPUs an engine cannot be: ${why}`)),
  ];
  if (trace.setAside > 0) {
    notes.push({ level: "warn", text: `${trace.setAside} of ${trace.rows} trace rows set aside` });
  }
  const named = ["model", "gpu", "cost"] as const;
  const engine = named.flatMap((name) => (flags[name] ? [`--${name} ${flags[name]}`] : []));
  return load.makeDocument({
    kind: "run",
    clock: io.clock,
    startedMs,
    command:
      `manx engine plan ${[...engine, `--trace ${flags.trace}`].join(" ")} --slo ${flags.slo} ` +
      `--gpus ${flags.gpus} --speed ${flags.speed} --limit ${flags.limit}`,
    status: "complete",
    runs: shown.map(({ replay, replayOptions }) => load.toResultRun(replay, replayOptions)),
    comparisons: [planComparison(shown, parts)],
    notes,
    next: nextCommand(best, flags),
  });
}

/** How far to trust the prices. */
function costNotes({ given, flags }: PlanParts): string[] {
  if (given === undefined) {
    return [
      "step times come from data sheets; fit them to the real engine with manx engine fit, or check the choice with manx load",
    ];
  }
  const { error, fittedOn } = given;
  const known = error.map(
    ({ figure, n, medianPercent, p90Percent }) =>
      `${figure.toUpperCase()} ${medianPercent.toFixed(1)} % in the median, ${p90Percent.toFixed(1)} % at p90 (n ${n})`,
  );
  const off = known.length === 0 ? "not known on requests unseen" : known.join("; ");
  const { undetermined } = fittedOn;
  return [
    `step times are fitted to ${fittedOn.source}; error on requests unseen: ${off}`,
    ...(undetermined.length > 0
      ? [
          `${flags.cost} tells nothing of ${undetermined.join(", ")}: those are near the data sheet's`,
        ]
      : []),
  ];
}

function nextCommand({ config, engines, pools, routing }: PlanCandidate, flags: PlanFlags): string {
  const cost = flags.cost === undefined ? "" : ` --cost ${flags.cost}`;
  const fleet =
    pools !== undefined
      ? ` --pools ${pools.prefill}+${pools.decode}`
      : engines > 1
        ? ` --replicas ${engines} --routing ${routing}`
        : "";
  return (
    `manx engine --model ${config.model} --gpu ${config.gpu} --ranks ${config.ranks}${cost} ` +
    `--tokens ${config.tokensMax} --sequences ${config.sequencesMax} --context ${config.contextMax} --memory ${config.memory} ` +
    `--scheduling ${config.scheduling}${fleet}`
  );
}

function planComparison(
  shown: readonly PlanCandidate[],
  { plan, limits, load, explain }: PlanParts,
): ResultComparison {
  const runs = shown.map(({ replay, replayOptions }) => load.toResultRun(replay, replayOptions));
  const limitText = Object.entries(limits).map(
    ([name, us]) => `${name.replace(/Us$/, "").toUpperCase()} p99 ≤ ${formatUs(us)}`,
  );
  const { gpu, model } = shown[0]!.config;
  const rows: ResultComparisonRow[] = [
    plainRow(
      "GPUs",
      "count",
      shown.map(({ gpus, replayOptions }) => [replayOptions.name, gpus]),
    ),
    plainRow(
      "worst p99 of its limit",
      "share",
      shown.map(({ strain, replayOptions }) => [replayOptions.name, strain]),
    ),
  ];
  for (const [metric, title] of [
    ["ttftUs", "TTFT"],
    ["itlUs", "ITL"],
    ["e2eUs", "E2E"],
  ] as const) {
    for (const q of [0.5, 0.95, 0.99]) {
      rows.push({
        title: `${title} p${q * 100}`,
        unit: "us",
        better: "lower",
        published: null,
        remark: "",
        cells: runs.map((run) => {
          const found = run.metrics[metric]?.quantiles.find((quantile) => quantile.q === q);
          const { value = null, low = null, high = null, n = 0, beyond = 0 } = found ?? {};
          return { run: run.name, value, low, high, n, grey: beyond < 10 };
        }),
      });
    }
  }
  return {
    title: `${plan.met ? "Meets" : "Does not meet"} ${limitText.join(", ")}: ${model} on ${gpu}`,
    columns: shown.map((candidate, index) => ({
      run: candidate.replayOptions.name,
      title: `${index + 1}: ${explain.planHead(candidate)}`,
      status: "measured" as const,
    })),
    rows,
    source: "",
  };
}

function plainRow(
  title: string,
  unit: ResultComparisonRow["unit"],
  values: readonly (readonly [string, number])[],
): ResultComparisonRow {
  return {
    title,
    unit,
    better: "lower",
    published: null,
    remark: "",
    cells: values.map(([run, value]) => ({
      run,
      value: Number.isFinite(value) ? value : null,
      low: null,
      high: null,
      n: 1,
      grey: false,
    })),
  };
}
