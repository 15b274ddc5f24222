/** `manx engine plan`: which configuration carries a workload within its limits on the fewest GPUs. */
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { EngineConfig, FittedCostText, Model } from "../engine/index.ts";
import type { RequestBudgets, ResultDocument, Trace, WorkRequest } from "../load/index.ts";
import { atFlag } from "./at-flag.ts";
import { breath } from "./breath.ts";
import { needed, parseCount, parseFactor } from "./flag-values.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";
import { planDocument } from "./plan-document.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

export interface PlanFlags {
  readonly model?: string;
  readonly gpu?: string;
  readonly cost?: string;
  readonly trace?: string;
  readonly slo?: string;
  readonly gpus: string;
  readonly speed: string;
  readonly limit: string;
  readonly context?: string;
  readonly json?: true;
  readonly output?: string;
}

export function addEnginePlanCommand(engine: Command, io: Io): void {
  engine
    .command("plan")
    .description("Find the configuration that carries a trace within limits on the fewest GPUs.")
    .option("--model <name>", "model (llama-3.1-8b, or the cost's)")
    .option("--gpu <name>", "GPU (h100-sxm, or the cost's)")
    .option("--cost <file>", "prices from manx engine fit; default: data sheets")
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
        "  manx engine plan --model llama-3.1-70b --trace t.csv --slo ttft=2s,itl=100ms --speed 4x\n" +
        "  manx engine plan --cost cost.json --trace t.csv --slo ttft=500ms,itl=50ms\n",
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
  if (flags.model !== undefined) findModel(flags.model, "--model");
  if (flags.gpu !== undefined) findGpu(flags.gpu, "--gpu");
  const limits = planLimits(load.parseBudgets(slo, "--slo"));
  const given = flags.cost === undefined ? undefined : await readCost(flags.cost);
  const engine = plannedEngine(flags, given);
  const model = findModel(engine.model, flags.cost);
  findGpu(engine.gpu, flags.cost);
  const output = flags.output === undefined ? undefined : openOutput(flags.output, io);
  const trace = await load.readTrace(path, { speed, limit });
  const longest = longestRequest(trace, model);
  const contextMax =
    flags.context === undefined
      ? longest
      : parseCount(flags.context, "--context", longest, 100_000_000);
  const startedMs = io.clock.wallMs();
  const progress = new ProgressLine(io);
  const search = explain.planEngine({
    ...engine,
    requests: trace.requests,
    workload: `${trace.path}, ${trace.requests.length} requests`,
    limits,
    gpusMax,
    contextMax,
    // The search does not know how long it is; it has rarely been more than thirty.
    onStep: async (text, looked) => {
      progress.show(text, looked / (looked + 8));
      await breath(io.interrupt);
    },
  });
  const plan = await search
    .catch((thrown: unknown) => {
      throw atFlag(thrown, { contextMax: "--context" });
    })
    .finally(() => progress.clear());
  const document = planDocument({
    load,
    explain,
    plan,
    flags,
    given: given?.fitted,
    limits,
    trace,
    startedMs,
    io,
  });
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

/** @throws MANX_REQUEST_NEVER_FITS with its row, if no engine of the model can serve it. */
function longestRequest({ requests, path }: Trace, model: Model): number {
  const tokensOf = ({ promptTokens, outputTokens }: WorkRequest): number =>
    promptTokens + outputTokens;
  const longest = requests.reduce((most, one) => (tokensOf(one) > tokensOf(most) ? one : most));
  const tokens = tokensOf(longest);
  if (tokens <= model.contextMax) return tokens;
  const tooLong = requests.filter((one) => tokensOf(one) > model.contextMax).length;
  throw new ManxError("MANX_REQUEST_NEVER_FITS", {
    what: "a request of the trace is longer than the model's context",
    where: `${path}:${longest.row}`,
    expected: `at most ${model.name}'s ${model.contextMax} tokens`,
    got:
      `${longest.promptTokens} prompt + ${longest.outputTokens} output = ${tokens} tokens; ` +
      `${tooLong} of ${requests.length} requests are too long`,
    hint: "take a model with a longer context, or leave such requests out of the trace",
  });
}

const COST_BYTES_MAX = 4 * 1024 * 1024;

interface FittedTo {
  readonly fitted: FittedCostText;
  readonly names: Partial<Pick<EngineConfig, "model" | "gpu" | "ranks">>;
  /** How a step is put together is not among it: that is what the plan is to find out. */
  readonly asItRan: Partial<EngineConfig>;
}

async function readCost(path: string): Promise<FittedTo> {
  const { fittedEngineOf, parseFittedCost } = await import("../engine/index.ts");
  const fitted = parseFittedCost(await readInput(path, COST_BYTES_MAX), path);
  const ran = ["sequencesMax", "kvTokens", "ahead", "admission"] as const;
  return {
    fitted,
    names: fittedEngineOf(fitted.engine, ["model", "gpu", "ranks"]),
    asItRan: fittedEngineOf(fitted.engine, ran),
  };
}

/** What is known of every engine. A fitted cost holds for the model, GPU and ranks that it was fitted to, and no other. */
function plannedEngine(
  flags: PlanFlags,
  given: FittedTo | undefined,
): {
  readonly model: string;
  readonly gpu: string;
  readonly engine?: Partial<EngineConfig>;
  readonly ranks?: readonly number[];
} {
  const { model = "llama-3.1-8b", gpu = "h100-sxm", ranks = 1 } = given?.names ?? {};
  for (const [name, mine] of [
    ["model", model],
    ["gpu", gpu],
  ] as const) {
    const asked = flags[name];
    if (given === undefined || asked === undefined || asked === mine) continue;
    throw new ManxError("MANX_FLAG_VALUE", {
      what: "a fitted cost holds for the engine that it was fitted to",
      where: `--${name}`,
      expected: `${mine}, as ${flags.cost} says`,
      got: asked,
      hint: `leave --${name} or --cost away`,
    });
  }
  const names = { model: flags.model ?? model, gpu: flags.gpu ?? gpu };
  if (given === undefined) return names;
  const engine = { ...given.asItRan, cost: { kind: "fitted", fitted: given.fitted } as const };
  return { ...names, ranks: [ranks], engine };
}

async function drawn(document: ResultDocument, io: Io): Promise<string> {
  const { renderTerminal } = await import("../report/index.ts");
  return renderTerminal(document, terminalOptions(io));
}
