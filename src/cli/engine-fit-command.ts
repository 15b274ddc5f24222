/** `manx engine fit`: prices of steps from what a real engine did, with their error on requests that the fit has not seen. */
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { EngineConfig } from "../engine/index.ts";
import type { FittedDocument } from "../explain/index.ts";
import { parseCount } from "./flag-values.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

interface FitFlags {
  readonly log?: string;
  readonly model: string;
  readonly gpu: string;
  readonly ranks: string;
  readonly sequences: string;
  readonly tokens: string;
  readonly kvTokens?: string;
  readonly scheduling: string;
  readonly inStep?: true;
  readonly limit: string;
  readonly replays: string;
  readonly json?: true;
  readonly output?: string;
}

const LOG_BYTES_MAX = 512 * 1024 * 1024;

export function addEngineFitCommand(engine: Command, io: Io): void {
  engine
    .command("fit")
    .description("Fit the twin's step prices to a real engine, with the error on requests unseen.")
    .option(
      "--log <file>",
      "what the engine did by request: vllm bench serve --save-detailed, JSONL or CSV; - is stdin",
    )
    .option("--model <name>", "model that the engine runs", "llama-3.1-8b")
    .option("--gpu <name>", "its GPU, or the nearest that has a data sheet", "h100-sxm")
    .option("--ranks <count>", "GPUs that share each layer", "1")
    .option("--sequences <count>", "its --max-num-seqs", "256")
    .option("--tokens <count>", "its --max-num-batched-tokens", "2048")
    .option("--kv-tokens <count>", "its KV memory as it logs it; default: from the data sheets")
    .option("--scheduling <name>", "chunked, continuous or static", "chunked")
    .option("--in-step", "it composes a step when the one before has ended (vLLM before 0.14)")
    .option("--limit <count>", "use the first so many requests", "1000")
    .option("--replays <count>", "most replays of the log in one fit", "24")
    .option("--json", "print the fitted document")
    .option("--output <file>", "write the fitted document; - is stdout")
    .addHelpText(
      "after",
      "\nColumns of JSONL and CSV: arrival_s, prompt_tokens, output_tokens, ttft_ms, e2e_ms and, if known,\n" +
        "itls_ms (a list). The end of a name is its unit: _s, _ms, _us, none for seconds.\n" +
        "\nExamples:\n" +
        "  manx engine fit --log run.json --gpu h100-sxm --output cost.json\n" +
        "  manx engine plan --cost cost.json --trace trace.csv --slo ttft=500ms,itl=50ms\n",
    )
    .action((flags: FitFlags) => runFit(flags, io));
}

async function runFit(flags: FitFlags, io: Io): Promise<void> {
  const numbers = readNumbers(flags);
  if (flags.log === undefined) {
    throw new ManxError("MANX_FLAG_MISSING", { where: "--log", expected: "a log of requests" });
  }
  const [{ ENGINE_DEFAULTS }, explain] = await Promise.all([
    import("../engine/index.ts"),
    import("../explain/index.ts"),
  ]);
  const output = flags.output === undefined ? undefined : openOutput(flags.output, io);
  const log = explain.readRequestLog(await readInput(flags.log, LOG_BYTES_MAX), flags.log);
  const isChunked = flags.scheduling === "chunked";
  const config: EngineConfig = {
    ...ENGINE_DEFAULTS,
    ...numbers.config,
    model: flags.model,
    gpu: flags.gpu,
    // Names are checked where they are looked up, with the nearest one in the error.
    scheduling: flags.scheduling as EngineConfig["scheduling"],
    ahead: isChunked && flags.inStep !== true,
    admission: isChunked ? "step" : "known",
  };
  const startedMs = io.clock.wallMs();
  const progress = new ProgressLine(io);
  const document = explain.fitRequestLog({
    log,
    config,
    limit: numbers.limit,
    replaysMax: numbers.replaysMax,
    startedMs,
    command: commandOf(flags),
    onProgress: (text, share) => progress.show(text, share),
  });
  progress.clear();
  const json = `${JSON.stringify(document)}\n`;
  output?.write(json);
  output?.close();
  if (flags.output !== "-") io.stdout.write(flags.json === true ? json : await drawn(document, io));
}

function readNumbers(flags: FitFlags): {
  readonly config: Pick<EngineConfig, "ranks" | "sequencesMax" | "tokensMax" | "kvTokens">;
  readonly limit: number;
  readonly replaysMax: number;
} {
  return {
    config: {
      ranks: parseCount(flags.ranks, "--ranks", 1, 1_024),
      sequencesMax: parseCount(flags.sequences, "--sequences", 1, 65_536),
      tokensMax: parseCount(flags.tokens, "--tokens", 1, 100_000_000),
      ...(flags.kvTokens !== undefined && {
        kvTokens: parseCount(flags.kvTokens, "--kv-tokens", 1, 1_000_000_000),
      }),
    },
    limit: parseCount(flags.limit, "--limit", 10, 1_000_000),
    replaysMax: parseCount(flags.replays, "--replays", 5, 10_000),
  };
}

function commandOf(flags: FitFlags): string {
  const kv = flags.kvTokens === undefined ? "" : ` --kv-tokens ${flags.kvTokens}`;
  const inStep = flags.inStep === true ? " --in-step" : "";
  return (
    `manx engine fit --log ${flags.log} --model ${flags.model} --gpu ${flags.gpu}` +
    ` --ranks ${flags.ranks} --sequences ${flags.sequences} --tokens ${flags.tokens}${kv}` +
    ` --scheduling ${flags.scheduling}${inStep} --limit ${flags.limit} --replays ${flags.replays}`
  );
}

async function drawn(document: FittedDocument, io: Io): Promise<string> {
  const [{ renderTerminal }, { fitAsResult }] = await Promise.all([
    import("../report/index.ts"),
    import("./fit-result.ts"),
  ]);
  return renderTerminal(fitAsResult(document), terminalOptions(io));
}
