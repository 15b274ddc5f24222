/** `manx engine`: serves the twin on OpenAI's API until it is interrupted. */
import type { Command } from "commander";
import { parseDurationUs } from "../core/index.ts";
import type { EngineConfig } from "../engine/index.ts";
import type { EngineServer, EngineServerOptions } from "../engine-server/index.ts";
import { addEnginePlanCommand } from "./engine-plan-command.ts";
import { parseCount, parseFactor, parseSeed } from "./flag-values.ts";
import { interrupted } from "./interrupted.ts";
import type { Io } from "./io.ts";
import { addSchedulingFlags, readScheduling, type SchedulingFlags } from "./scheduling-flags.ts";

interface EngineFlags extends SchedulingFlags {
  readonly model: string;
  readonly gpu: string;
  readonly ranks: string;
  readonly scheduling: string;
  readonly memory: string;
  readonly context: string;
  readonly sequences: string;
  readonly tokens: string;
  readonly speed: string;
  readonly host: string;
  readonly port: string;
  readonly seed: string;
  readonly servedModel?: string;
  readonly queue: string;
  readonly drain: string;
  readonly json?: true;
}

export function addEngineCommand(program: Command, io: Io): void {
  const engine = program
    .command("engine")
    .enablePositionalOptions()
    .description("Serve the twin of an inference engine on OpenAI's API, at the real one's pace.")
    .option("--model <name>", "model whose step times and KV sizes are used", "llama-3.1-8b")
    .option("--gpu <name>", "GPU that the steps are priced for", "h100-sxm")
    .option("--ranks <count>", "GPUs of one host that share each layer", "1")
    .option("--scheduling <name>", "chunked, continuous or static", "chunked")
    .option(
      "--memory <name>",
      "KV memory: paged, prefix or radix (with cache, by block or by token), contiguous",
      "paged",
    )
    .option("--context <tokens>", "longest prompt plus output", "16384")
    .option("--sequences <count>", "most requests in the batch", "256")
    .option("--tokens <count>", "most tokens computed in a step", "2048")
    .option("--speed <factor>", "run this many times as fast as the GPU would", "1")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes any free one", "8000")
    .option("--seed <number>", "of words, ids, and lengths that no request sets", "42")
    .option("--served-model <name>", "name that requests ask for; default: the model's own")
    .option("--queue <count>", "most waiting requests; more are answered 429", "1024")
    .option("--drain <duration>", "how long open requests may go on after Ctrl-C", "10s")
    .option("--json", "print one JSON object when ready")
    .addHelpText(
      "after",
      "\nBeside OpenAI's fields, a request may script its answer:\n" +
        '  "manx": {"output_tokens": 211}\n' +
        '  "manx": {"tool_calls": [{"name": "search", "arguments": {"q": "cats"}}]}\n' +
        "\nExamples:\n  manx engine --port 8000\n" +
        "  manx engine --model llama-3.1-70b --ranks 4 --memory contiguous --scheduling static\n",
    )
    .action((flags: EngineFlags) => runEngine(flags, io));
  addSchedulingFlags(engine);
  addEnginePlanCommand(engine, io);
}

async function runEngine(flags: EngineFlags, io: Io): Promise<void> {
  // Read before the server is loaded: a wrong flag is told at once.
  const drainUs = parseDurationUs(flags.drain, "--drain");
  const numbers = readNumbers(flags);
  const scheduling = readScheduling(flags);
  const { ENGINE_DEFAULTS } = await import("../engine/index.ts");
  const { startEngineServer } = await import("../engine-server/index.ts");
  const config: EngineConfig = {
    ...ENGINE_DEFAULTS,
    ...numbers.config,
    ...scheduling,
    model: flags.model,
    gpu: flags.gpu,
    // Names are checked where they are looked up, with the nearest one in the error.
    scheduling: flags.scheduling as EngineConfig["scheduling"],
    memory: flags.memory as EngineConfig["memory"],
  };
  const options: EngineServerOptions = {
    config,
    clock: io.clock,
    host: flags.host,
    ...numbers.server,
    ...(flags.servedModel !== undefined && { servedModel: flags.servedModel }),
  };
  const server = await startEngineServer(options);
  report(server, config, flags, io);
  await interrupted(io.interrupt);
  const { running, waiting } = server.engine.scheduler;
  if (running + waiting > 0) {
    io.stderr.write(
      `engine: draining ${running + waiting} open requests for up to ${flags.drain}\n`,
    );
  }
  await server.close({ drainUs });
  io.stderr.write(`engine: closed; ${lagText(server)}\n`);
}

function readNumbers(flags: EngineFlags): {
  config: Pick<EngineConfig, "ranks" | "contextMax" | "sequencesMax" | "tokensMax">;
  server: Pick<EngineServerOptions, "port" | "seed" | "waitingMax" | "speed">;
} {
  return {
    config: {
      ranks: parseCount(flags.ranks, "--ranks", 1, 1_024),
      contextMax: parseCount(flags.context, "--context", 1, 100_000_000),
      sequencesMax: parseCount(flags.sequences, "--sequences", 1, 65_536),
      tokensMax: parseCount(flags.tokens, "--tokens", 1, 100_000_000),
    },
    server: {
      port: parseCount(flags.port, "--port", 0, 65_535),
      seed: parseSeed(flags.seed),
      waitingMax: parseCount(flags.queue, "--queue", 1, 1_000_000),
      speed: parseFactor(flags.speed, "--speed", 0.001, 1_000),
    },
  };
}

function report(server: EngineServer, config: EngineConfig, flags: EngineFlags, io: Io): void {
  const { url, engine } = server;
  const { kv } = engine.scheduler;
  const model = flags.servedModel ?? config.model;
  const factor = parseFactor(flags.speed, "--speed", 0.001, 1_000);
  const speed = factor === 1 ? "" : `, ${factor} times as fast`;
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: 32,
    messages: [{ role: "user", content: "hello" }],
  });
  io.stderr.write(
    `engine: ${url} (${config.model} on ${config.ranks} x ${config.gpu}, ${config.scheduling}, ` +
      `${kv.name} KV of ${kv.totalTokens} tokens${speed}); base URL for clients ${url}/v1\n` +
      `  try: curl -N ${url}/v1/chat/completions -d '${body}'\n`,
  );
  if (flags.json !== true) return;
  io.stdout.write(`${JSON.stringify({ url, model, kvTokens: kv.totalTokens, config })}\n`);
}

/** What its figures are worth: a twin that ran late was slower than the engine that it stands for. */
function lagText(server: EngineServer): string {
  const { steps, lagUsMax, resyncs } = server.engine.totals;
  const lost = resyncs === 0 ? "" : `, and gave up lost time ${resyncs} times`;
  return `${steps} steps, the latest ${(lagUsMax / 1_000).toFixed(1)} ms after its time${lost}`;
}
