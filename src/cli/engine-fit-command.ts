/** `manx engine fit`: prices of steps from what a real engine did, with their error on requests that the fit has not seen. */
import type { Command } from "commander";
import { ManxError, parseDurationUs, US_PER_S } from "../core/index.ts";
import type { EngineConfig } from "../engine/index.ts";
import type { EngineFacts, FittedDocument } from "../explain/index.ts";
import { atFlag } from "./at-flag.ts";
import { breath } from "./breath.ts";
import { parseCount } from "./flag-values.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { lookAtMetrics } from "./metrics-source.ts";
import { openOutput } from "./output-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

interface FitFlags {
  readonly log?: string;
  readonly metrics?: readonly string[];
  readonly interval: string;
  readonly intervals: string;
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
const FLAG_OF: Readonly<Partial<Record<keyof EngineConfig, string>>> = {
  ranks: "--ranks",
  sequencesMax: "--sequences",
  tokensMax: "--tokens",
  kvTokens: "--kv-tokens",
  scheduling: "--scheduling",
};
/** Of requests that stand for those that a scrape counted. */
const SEED = 42;

export function addEngineFitCommand(engine: Command, io: Io): void {
  engine
    .command("fit")
    .description("Fit the twin's step prices to a real engine, with the error on requests unseen.")
    .option(
      "--log <file>",
      "what the engine did by request: vllm bench serve --save-detailed, JSONL or CSV; - is stdin",
    )
    .option(
      "--metrics <source...>",
      "vLLM's or SGLang's /metrics: a URL, or files saved one after another",
    )
    .option("--interval <duration>", "between looks; of a single file, since the start", "30s")
    .option("--intervals <count>", "of a URL; the last of several is held back", "2")
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
        "  manx engine fit --metrics http://127.0.0.1:8000 --interval 60s --output cost.json\n" +
        "  manx engine plan --cost cost.json --trace trace.csv --slo ttft=500ms,itl=50ms\n",
    )
    .action((flags: FitFlags) => runFit(flags, io));
}

async function runFit(flags: FitFlags, io: Io): Promise<void> {
  const numbers = readNumbers(flags);
  refuseUnlessOne(flags);
  const { ENGINE_DEFAULTS, findGpu, findModel } = await import("../engine/index.ts");
  findModel(flags.model, "--model");
  findGpu(flags.gpu, "--gpu");
  const output = flags.output === undefined ? undefined : openOutput(flags.output, io);
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
  const progress = new ProgressLine(io);
  const details: Details = {
    config,
    replaysMax: numbers.replaysMax,
    startedMs: io.clock.wallMs(),
    command: commandOf(flags),
    onProgress: async (text, share) => {
      progress.show(text, share);
      await breath(io.interrupt);
    },
  };
  let document: FittedDocument;
  try {
    document = await fitted(flags, numbers, details, progress, io);
  } catch (thrown) {
    throw atFlag(thrown, FLAG_OF);
  } finally {
    progress.clear();
  }
  const json = `${JSON.stringify(document)}\n`;
  output?.write(json);
  output?.close();
  if (flags.output !== "-") io.stdout.write(flags.json === true ? json : await drawn(document, io));
}

type Details = import("../explain/index.ts").FitDetails;

function refuseUnlessOne({ log, metrics }: FitFlags): void {
  if (log === undefined && metrics === undefined) {
    throw new ManxError("MANX_FLAG_MISSING", {
      where: "--log",
      expected: "a log of requests, or --metrics with a URL or files",
    });
  }
  if (log === undefined || metrics === undefined) return;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--metrics",
    expected: "either --log or --metrics",
    got: "both",
    hint: "a log says more; leave --metrics away",
  });
}

async function fitted(
  { log: path, metrics: sources = [] }: FitFlags,
  { intervalUs, intervals, limit }: Numbers,
  details: Details,
  progress: ProgressLine,
  io: Io,
): Promise<FittedDocument> {
  const explain = await import("../explain/index.ts");
  if (path !== undefined) {
    const log = explain.readRequestLog(await readInput(path, LOG_BYTES_MAX), path);
    return explain.fitRequestLog({ ...details, log, limit });
  }
  const onWait = (text: string, share: number): void => progress.show(text, share);
  const looks = await lookAtMetrics({ sources, intervalUs, intervals, onWait }, io);
  const pages = looks.map(({ text, where }) => new explain.MetricsPage(text, where));
  const facts = explain.engineFacts(pages.at(-1)!);
  const windows =
    pages.length === 1
      ? [explain.metricsWindow(undefined, pages[0]!, intervalUs / US_PER_S)]
      : pages.slice(1).map((page, i) => {
          const [from, to] = [looks[i]!.atUs, looks[i + 1]!.atUs];
          const us = from === undefined || to === undefined ? intervalUs : to - from;
          return explain.metricsWindow(pages[i], page, us / US_PER_S);
        });
  const { kvTokens } = facts;
  const config: EngineConfig = {
    ...(kvTokens !== undefined && { kvTokens }),
    // What was given goes before what the page says.
    ...details.config,
  };
  const source = looks.at(-1)!.where;
  const notes = [stateText(facts)];
  return explain.fitMetrics({ ...details, config, windows, source, notes, seed: SEED });
}

function stateText({ engine, running, waiting, kvShare, kvTokens }: EngineFacts): string {
  const parts = [
    running === undefined ? undefined : `${running} running`,
    waiting === undefined ? undefined : `${waiting} waiting`,
    kvShare === undefined ? undefined : `KV memory ${(100 * kvShare).toFixed(0)} % in use`,
    kvTokens === undefined ? undefined : `of ${kvTokens} tokens`,
  ].filter((part) => part !== undefined);
  return `${engine} at the last look: ${parts.join(", ")}`;
}

interface Numbers {
  readonly config: Pick<EngineConfig, "ranks" | "sequencesMax" | "tokensMax" | "kvTokens">;
  readonly limit: number;
  readonly replaysMax: number;
  readonly intervalUs: number;
  readonly intervals: number;
}

function readNumbers(flags: FitFlags): Numbers {
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
    intervalUs: readInterval(flags.interval),
    intervals: parseCount(flags.intervals, "--intervals", 1, 100),
  };
}

function readInterval(text: string): number {
  const us = parseDurationUs(text, "--interval");
  if (us >= US_PER_S) return us;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--interval",
    expected: "at least 1s: rates of less are chance",
    got: JSON.stringify(text),
  });
}

function commandOf(flags: FitFlags): string {
  const kv = flags.kvTokens === undefined ? "" : ` --kv-tokens ${flags.kvTokens}`;
  const inStep = flags.inStep === true ? " --in-step" : "";
  const from =
    flags.log === undefined
      ? // Credentials of a URL do not belong into a document.
        `--metrics ${flags.metrics!.map(bare).join(" ")} --interval ${flags.interval} --intervals ${flags.intervals}`
      : `--log ${flags.log} --limit ${flags.limit}`;
  return (
    `manx engine fit ${from} --model ${flags.model} --gpu ${flags.gpu}` +
    ` --ranks ${flags.ranks} --sequences ${flags.sequences} --tokens ${flags.tokens}${kv}` +
    ` --scheduling ${flags.scheduling}${inStep} --replays ${flags.replays}`
  );
}

function bare(source: string): string {
  return source.replace(/^(https?:\/\/)(?:[^/@]*@)?([^?#]*).*$/i, "$1$2");
}

async function drawn(document: FittedDocument, io: Io): Promise<string> {
  const [{ renderTerminal }, { fitAsResult }] = await Promise.all([
    import("../report/index.ts"),
    import("./fit-result.ts"),
  ]);
  return renderTerminal(fitAsResult(document), terminalOptions(io));
}
