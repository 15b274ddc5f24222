/** `manx load`: open-loop load against a server, and one result document. */
import type { Command } from "commander";
import { formatUs, ManxError } from "../core/index.ts";
import type {
  ApiName,
  Calibration,
  LiveTarget,
  RequestBudgets,
  ResultDocument,
  ResultRun,
} from "../load/index.ts";
import type { Io } from "./io.ts";
import { commandText, nextCommand, throwVerdict } from "./load-ending.ts";
import { type LoadFlags, type LoadPlan, readPlan } from "./load-flags.ts";
import { progressText } from "./load-progress.ts";
import { openWorkload, type Workload } from "./load-workload.ts";
import { openOutput } from "./output-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

type Load = typeof import("../load/index.ts");

export function addLoadCommand(program: Command, io: Io): void {
  program
    .command("load")
    .description("Send open-loop load to a server; times count from the intended start.")
    // Checked below and not by commander, which would not look at a misspelt flag any more.
    .option("--url <url>", "base URL of the server, such as http://127.0.0.1:8000 (needed)")
    .option("--api <name>", "openai (chat completions) or anthropic (messages)", "openai")
    .option("--model <name>", "model to ask for; default: the first that the server lists")
    .option("--rate <rate>", "mean arrivals, such as 20/s (default 10/s)")
    .option("--arrivals <process>", "poisson, constant or gamma (default poisson)")
    .option("--cv <factor>", "burstiness of gamma arrivals (default 3; 1 is Poisson)")
    .option("--duration <duration>", "time in which requests arrive (default 30s, or the trace)")
    .option("--trace <file>", "replay an Azure CSV or Mooncake JSONL, plain or gzip; - is stdin")
    .option("--from <duration>", "begin at this time of the trace")
    .option("--speed <factor>", "replay the trace this many times as fast")
    .option("--limit <count>", "use the first so many requests of the trace")
    .option("--prompt-tokens <count>", "length of each prompt (default 500)")
    .option("--output-tokens <count>", "longest answer (default 64)")
    .option("--exact-output", "make answers exactly that long (ignore_eos: vLLM, SGLang, manx)")
    .option("--no-stream", "ask for whole answers")
    .option("--slo <budgets>", "limits of each request, such as ttft=500ms,itl=50ms,e2e=5s")
    .option("--goodput <share>", "share of offered requests that must meet the limits", "99%")
    .option("--max-error-rate <share>", "above it no percentile is believed", "1%")
    .option("--concurrency <count>", "most requests open at once; the wait counts (default none)")
    .option("--connections <count>", "most connections at once; the wait counts (default none)")
    .option("--timeout <duration>", "limit of one request", "60s")
    .option("--seed <number>", "of arrivals, lengths and words", "42")
    .option("--nonce <text>", "first word of all prompts; default: new in each run")
    .option("--header <header>", 'further "name: value"; may be repeated', collect, [])
    .option("--cold", "open a new connection for each request")
    .option("--warm <count>", "open so many connections before the run")
    .option("--no-calibrate", "skip the second that measures this client's own error")
    .option("--json", "print the result document")
    .option("--output <file>", "write the result document; - is stdout")
    .addHelpText(
      "after",
      "\nA key in MANX_API_KEY is sent as the API wants it, and never printed.\n" +
        "\nExamples:\n  manx load --url http://127.0.0.1:8000 --rate 20/s --duration 30s\n" +
        "  manx load --url http://127.0.0.1:8000 --trace conversation.csv.gz --speed 10x --limit 500\n" +
        "  manx load --url https://api.example.com --slo ttft=800ms,itl=60ms --json --output -\n",
    )
    .action((flags: LoadFlags) => runLoad(flags, io));
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

async function runLoad(flags: LoadFlags, io: Io): Promise<void> {
  // Read before the machinery is loaded: a wrong flag is told at once.
  const plan = readPlan(flags);
  const load = await import("../load/index.ts");
  const budgets = flags.slo === undefined ? {} : load.parseBudgets(flags.slo, "--slo");
  if (!flags.stream) refuseStreamBudgets(budgets);
  const output = flags.output === undefined ? undefined : openOutput(flags.output, io);
  try {
    const document = await measure(load, flags, plan, budgets, io);
    const json = `${JSON.stringify(document)}\n`;
    output?.write(json);
    if (flags.output !== "-") {
      io.stdout.write(flags.json === true ? json : await drawn(document, io));
    }
    throwVerdict(document);
  } finally {
    output?.close();
  }
}

function refuseStreamBudgets(budgets: RequestBudgets): void {
  const name = Object.keys(budgets).find((one) => one !== "e2eUs");
  if (name === undefined) return;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--slo",
    expected: "only e2e beside --no-stream, since a whole answer has no first token",
    got: name.replace(/Us$/, ""),
  });
}

async function measure(
  load: Load,
  flags: LoadFlags,
  plan: LoadPlan,
  budgets: RequestBudgets,
  io: Io,
): Promise<ResultDocument> {
  const { clock } = io;
  const startedMs = clock.wallMs();
  const notes: ResultDocument["notes"] = [];
  const workload = await openWorkload(load, plan, notes);
  const api = load.loadApi(flags.api);
  const apiKey = io.env.MANX_API_KEY;
  const access = { url: plan.url, clock, headers: plan.headers, ...(apiKey && { apiKey }) };
  const model = flags.model ?? (await load.servedModel({ ...access, api }));
  const nonce = plan.nonce ?? startedMs.toString(36);
  const target = new load.LiveTarget({
    ...access,
    model,
    nonce,
    api: flags.api as ApiName,
    seed: plan.seed,
    stream: flags.stream,
    exactOutput: flags.exactOutput === true,
    cold: flags.cold === true,
    timeoutUs: plan.timeoutUs,
    ...(plan.connectionsMax !== undefined && { connectionsMax: plan.connectionsMax }),
  });
  let run: ResultRun;
  try {
    await target.check();
    const calibration = flags.calibrate ? await load.calibrate(clock, io.interrupt) : undefined;
    if (calibration !== undefined) io.stderr.write(`${calibrationText(calibration)}\n`);
    await warmUp(target, plan.warm, io);
    run = await send(
      load,
      { flags, plan, budgets, workload, target, model, nonce, calibration },
      io,
    );
  } finally {
    target.close();
  }
  const isPartial = io.interrupt.aborted;
  if (isPartial) notes.push(partialNote(run));
  return load.makeDocument({
    kind: "load",
    clock,
    startedMs,
    command: commandText(flags, model),
    status: isPartial ? "partial" : "complete",
    runs: [run],
    notes,
    next: nextCommand(flags, plan, run, model),
  });
}

interface Sending {
  readonly flags: LoadFlags;
  readonly plan: LoadPlan;
  readonly budgets: RequestBudgets;
  readonly workload: Workload;
  readonly target: LiveTarget;
  readonly model: string;
  readonly nonce: string;
  readonly calibration: Calibration | undefined;
}

async function send(load: Load, sending: Sending, io: Io): Promise<ResultRun> {
  const { flags, plan, budgets, workload, target, model, nonce, calibration } = sending;
  const progress = new ProgressLine(io);
  try {
    return await load.runOpenLoop({
      name: "load",
      world: "live",
      seed: plan.seed,
      conditions: {
        target: plan.url,
        arrivals: workload.arrivals,
        workload: workload.text,
        temperature: flags.cold === true ? "cold" : plan.warm > 0 ? "warm" : "mixed",
        cacheMode: workload.sharesPrefixes
          ? "unknown; prompts share prefixes as in the trace"
          : "unknown; prompts of this run are its own",
        setup: {
          api: flags.api,
          model,
          nonce,
          stream: flags.stream,
          timeoutUs: plan.timeoutUs,
          ...(calibration !== undefined && calibrationFacts(calibration)),
        },
      },
      clock: io.clock,
      requests: workload.requests,
      spanUs: workload.spanUs,
      target,
      budgets,
      goodputMin: plan.goodputMin,
      errorRateMax: plan.errorRateMax,
      timeoutUs: plan.timeoutUs,
      signal: io.interrupt,
      onProgress: (now) => {
        progress.show(progressText(now, workload.expected), now.elapsedUs / workload.spanUs);
      },
      progressEveryUs: io.stderr.isTTY === true ? 100_000 : 1_000_000,
      ...(plan.concurrencyMax !== undefined && { concurrencyMax: plan.concurrencyMax }),
    });
  } finally {
    progress.clear();
  }
}

async function warmUp(target: LiveTarget, count: number, io: Io): Promise<void> {
  if (count === 0) return;
  const open = await target.warm(count);
  if (open < count) io.stderr.write(`load: only ${open} of ${count} connections could be opened\n`);
}

function calibrationFacts(calibration: Calibration): Record<string, number> {
  return {
    clientTtftErrorP50Us: calibration.ttftErrorP50.value,
    clientTtftErrorP99Us: calibration.ttftErrorP99.value,
    clientGapErrorP50Us: calibration.gapErrorP50.value,
    clientGapErrorP99Us: calibration.gapErrorP99.value,
    clientErrorN: calibration.ttftErrorP50.n,
  };
}

function calibrationText(calibration: Calibration): string {
  const { ttftErrorP50, ttftErrorP99, gapErrorP50, gapErrorP99 } = calibration;
  return (
    `load: this client's own error against a loopback server: ` +
    `TTFT p50 ${formatUs(ttftErrorP50.value)}, p99 ${formatUs(ttftErrorP99.value)} (n ${ttftErrorP50.n}); ` +
    `gaps p50 ${formatUs(gapErrorP50.value)}, p99 ${formatUs(gapErrorP99.value)} (n ${gapErrorP50.n})`
  );
}

function partialNote(run: ResultRun): ResultDocument["notes"][number] {
  const open = run.gauges.interrupted?.value ?? 0;
  return {
    level: "warn",
    text: `interrupted: ${open} requests were given up; they are in no figure, so the slowest are missing`,
  };
}

/** Loaded only when it is drawn. */
async function drawn(document: ResultDocument, io: Io): Promise<string> {
  const { renderTerminal } = await import("../report/index.ts");
  return renderTerminal(document, terminalOptions(io));
}
