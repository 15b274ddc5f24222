/** `manx engine plan`: which configuration carries a workload within its limits on the fewest GPUs. */
import type { Command } from "commander";
import { formatUs, ManxError } from "../core/index.ts";
import type { EnginePlan, PlanCandidate } from "../explain/index.ts";
import type {
  RequestBudgets,
  ResultComparison,
  ResultComparisonRow,
  ResultDocument,
  Trace,
} from "../load/index.ts";
import { needed, parseCount, parseFactor } from "./flag-values.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

interface PlanFlags {
  readonly model: string;
  readonly gpu: string;
  readonly trace?: string;
  readonly slo?: string;
  readonly gpus: string;
  readonly speed: string;
  readonly limit: string;
  readonly context?: string;
  readonly json?: true;
  readonly output?: string;
}

type Load = typeof import("../load/index.ts");
type Explain = typeof import("../explain/index.ts");

/** The recommendation and the next best two. */
const SHOWN = 3;

export function addEnginePlanCommand(engine: Command, io: Io): void {
  engine
    .command("plan")
    .description("Find the configuration that carries a trace within limits on the fewest GPUs.")
    .option("--model <name>", "model", "llama-3.1-8b")
    .option("--gpu <name>", "GPU", "h100-sxm")
    .option("--trace <file>", "Azure CSV or Mooncake JSONL, plain or gzip; - is stdin (needed)")
    .option("--slo <limits>", "p99 limits, such as ttft=500ms,itl=50ms (needed; also e2e)")
    .option("--gpus <count>", "most GPUs that may be used", "16")
    .option("--speed <factor>", "plan for this many times the trace's rate", "1")
    .option("--limit <count>", "use the first so many requests of the trace", "10000")
    .option("--context <tokens>", "longest request to accept; default: the trace's longest")
    .option("--json", "print the result document")
    .option("--output <file>", "write the result document; - is stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  manx engine plan --trace conversation.csv.gz --slo ttft=500ms,itl=50ms\n" +
        "  manx engine plan --model llama-3.1-70b --trace t.csv --slo ttft=2s,itl=100ms --speed 4x\n",
    )
    .action((flags: PlanFlags) => runPlan(flags, io));
}

async function runPlan(flags: PlanFlags, io: Io): Promise<void> {
  const path = needed(flags.trace, "--trace", "a trace file");
  const slo = needed(flags.slo, "--slo", "limits such as ttft=500ms,itl=50ms");
  const gpusMax = parseCount(flags.gpus, "--gpus", 1, 1_024);
  const speed = parseFactor(flags.speed, "--speed", 0.001, 1_000_000);
  const limit = parseCount(flags.limit, "--limit", 1, 5_000_000);
  const [load, explain, { findGpu, findModel }] = await Promise.all([
    import("../load/index.ts"),
    import("../explain/index.ts"),
    import("../engine/index.ts"),
  ]);
  findModel(flags.model, "--model");
  findGpu(flags.gpu, "--gpu");
  const limits = planLimits(load.parseBudgets(slo, "--slo"));
  const output = flags.output === undefined ? undefined : openOutput(flags.output, io);
  const trace = await load.readTrace(path, { speed, limit });
  const longest = longestRequest(trace);
  const contextMax =
    flags.context === undefined
      ? longest
      : parseCount(flags.context, "--context", longest, 100_000_000);
  const startedMs = io.clock.wallMs();
  const progress = new ProgressLine(io);
  const plan = explain.planEngine({
    model: flags.model,
    gpu: flags.gpu,
    requests: trace.requests,
    workload: `${trace.path}, ${trace.requests.length} requests`,
    limits,
    gpusMax,
    contextMax,
    onStep: (text) => progress.show(text, 0.5),
  });
  progress.clear();
  const document = planDocument({ load, explain, plan, flags, limits, trace, startedMs, io });
  const json = `${JSON.stringify(document)}\n`;
  output?.write(json);
  output?.close();
  if (flags.output !== "-") io.stdout.write(flags.json === true ? json : await drawn(document, io));
  if (!plan.met) {
    throw new ManxError("MANX_BUDGET_BREACHED", {
      what: `no configuration of up to ${gpusMax} GPUs meets the limits`,
      hint: "allow more --gpus, loosen --slo, or take another GPU",
    });
  }
}

/** A p99 over all requests can be asked of these three; the others are limits of a single request. */
function planLimits(budgets: RequestBudgets): RequestBudgets {
  const other = Object.keys(budgets).find((name) => !["ttftUs", "itlUs", "e2eUs"].includes(name));
  if (other === undefined) return budgets;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--slo",
    expected: "limits of ttft, itl and e2e",
    got: other.replace(/Us$/, ""),
  });
}

function longestRequest(trace: Trace): number {
  return trace.requests.reduce(
    (longest, { promptTokens, outputTokens }) => Math.max(longest, promptTokens + outputTokens),
    1,
  );
}

interface PlanParts {
  readonly load: Load;
  readonly explain: Explain;
  readonly plan: EnginePlan;
  readonly flags: PlanFlags;
  readonly limits: RequestBudgets;
  readonly trace: Trace;
  readonly startedMs: number;
  readonly io: Io;
}

function planDocument(parts: PlanParts): ResultDocument {
  const { load, explain, plan, flags, limits, trace, startedMs, io } = parts;
  const shown = plan.candidates.slice(0, SHOWN);
  const best = shown[0]!;
  const notes: ResultDocument["notes"] = [
    { level: "info", text: `looked at ${plan.looked} configurations in virtual time` },
    { level: "info", text: `as vLLM flags: ${explain.vllmFlags(best)}` },
    {
      level: "info",
      text: "step times come from data sheets; check the choice on the real engine with manx load",
    },
    ...plan.impossible.map(({ ranks, why }) => ({
      level: "info" as const,
      text: `${ranks} GPUs an engine cannot be: ${why}`,
    })),
  ];
  if (trace.setAside > 0) {
    notes.push({ level: "warn", text: `${trace.setAside} of ${trace.rows} trace rows set aside` });
  }
  return load.makeDocument({
    kind: "run",
    clock: io.clock,
    startedMs,
    command: `manx engine plan --model ${flags.model} --gpu ${flags.gpu} --trace ${flags.trace} --slo ${flags.slo} --gpus ${flags.gpus} --speed ${flags.speed} --limit ${flags.limit}`,
    status: "complete",
    runs: shown.map(({ replay, replayOptions }) => load.toResultRun(replay, replayOptions)),
    comparisons: [planComparison(shown, limits, plan.met, load, parts)],
    notes,
    next: `manx engine --model ${best.config.model} --gpu ${best.config.gpu} --ranks ${best.config.ranks} --tokens ${best.config.tokensMax} --context ${best.config.contextMax} --memory ${best.config.memory} --scheduling ${best.config.scheduling}`,
  });
}

function planComparison(
  shown: readonly PlanCandidate[],
  limits: RequestBudgets,
  met: boolean,
  load: Load,
  { plan }: PlanParts,
): ResultComparison {
  const runs = shown.map(({ replay, replayOptions }) => load.toResultRun(replay, replayOptions));
  const limitText = Object.entries(limits).map(
    ([name, us]) => `${name.replace(/Us$/, "").toUpperCase()} p99 ≤ ${formatUs(us)}`,
  );
  const names = ["recommended", "second", "third"];
  const rows: ResultComparisonRow[] = [
    plainRow(
      "GPUs",
      "count",
      shown.map(({ gpus, replayOptions }) => [replayOptions.name, gpus]),
    ),
    plainRow(
      "largest p99 as a share of its limit",
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
    title: `${met ? "Meets" : "Does not meet"} ${limitText.join(", ")}; ${plan.looked} configurations tried`,
    columns: shown.map(({ replayOptions }, index) => ({
      run: replayOptions.name,
      title: `${names[index]}: ${replayOptions.name}`,
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

async function drawn(document: ResultDocument, io: Io): Promise<string> {
  const { renderTerminal } = await import("../report/index.ts");
  return renderTerminal(document, terminalOptions(io));
}
