/** `manx engine`: serves the twin on OpenAI's API until it is interrupted. */
import type { Command } from "commander";
import { formatUs } from "../core/index.ts";
import type { Engine } from "../engine/index.ts";
import type { EngineServer } from "../engine-server/index.ts";
import { atFlag } from "./at-flag.ts";
import { addEngineFitCommand } from "./engine-fit-command.ts";
import { addEngineFlags, type EngineFlags, givenFlags } from "./engine-flags.ts";
import { addEnginePlanCommand } from "./engine-plan-command.ts";
import { interrupted } from "./interrupted.ts";
import type { Io } from "./io.ts";

type EngineSetup = import("../engine-server/index.ts").EngineSetup;
type Setup = EngineSetup["server"];
type Section = EngineSetup["section"];

/** Of two flags that need each other: what is missing is named by its key, wherever the other one came from. */
const MISSING = {
  "engine.speculation.acceptance": "--acceptance",
  "engine.speculation.drafts": "--drafts",
};

export function addEngineCommand(program: Command, io: Io): void {
  const engine = program
    .command("engine")
    .enablePositionalOptions()
    .description("Serve the twin of an inference engine on OpenAI's API, at the real one's pace.")
    .option("--config <file>", "manx.config.jsonc with a section engine; flags come over it")
    .option("--json", "print one JSON object when ready")
    .addHelpText(
      "after",
      "\nThe default is in brackets. Everything else is set in the file or by a MANX_ENGINE_* variable: the\n" +
        "other levers of scheduling and memory, cold and noisy replicas, links, other prices, faults\n" +
        "(docs/how-to/engine.md, docs/how-to/engine-faults.md).\n" +
        "\nBeside OpenAI's fields, a request may script its answer:\n" +
        '  "manx": {"output_tokens": 211}\n' +
        '  "manx": {"tool_calls": [{"name": "search", "arguments": {"q": "cats"}}]}\n' +
        "\nExamples:\n  manx engine --port 8000\n" +
        "  manx engine --model llama-3.1-70b --ranks 4 --memory contiguous --scheduling static\n" +
        "  manx engine --config manx.config.jsonc --replicas 4 --routing prefix --memory prefix\n",
    )
    .action((flags: EngineFlags) => runEngine(flags, io));
  addEngineFlags(engine);
  addEngineFitCommand(engine, io);
  addEnginePlanCommand(engine, io);
}

async function runEngine(flags: EngineFlags, io: Io): Promise<void> {
  const { readConfig } = await import("../config/index.ts");
  const { atItsPlace, engineSchema, engineSetup, faultFields, rehearse, startEngineServer } =
    await import("../engine-server/index.ts");
  const written = await readConfig(flags.config as string | undefined, {
    section: "engine",
    schema: engineSchema,
    env: io.env,
    flags: givenFlags(flags, faultFields),
  }).catch((thrown: unknown) => {
    throw atFlag(thrown, MISSING);
  });
  const setup = await engineSetup(written);
  let server: EngineServer;
  let warnings: readonly string[];
  try {
    const { config, speed = 1, replicas = 1 } = setup.server;
    warnings = await rehearse({ config, speed, replicas, clock: io.clock });
    server = await startEngineServer({ ...setup.server, clock: io.clock });
  } catch (thrown) {
    throw atItsPlace(thrown, setup.section);
  }
  const { crossHostLoss, describeConfig } = await import("../engine/index.ts");
  const { config } = setup.server;
  report(server, setup.server, io);
  const presets = presetText(setup.section);
  if (presets !== "") io.stderr.write(`engine: ${presets}\n`);
  const loss = crossHostLoss(config);
  if (loss !== undefined) io.stderr.write(`engine: warning: ${loss.text}\n`);
  for (const warning of warnings) io.stderr.write(`engine: warning: ${warning}\n`);
  if (flags.json === true) {
    const [{ scheduler }] = server.engines as [Engine];
    const kvTokens = scheduler.kv.totalTokens;
    const model = setup.server.servedModel ?? config.model;
    const ready = { url: server.url, model, kvTokens, config: describeConfig(config) };
    io.stdout.write(`${JSON.stringify(ready)}\n`);
  }
  await interrupted(io.interrupt);
  const open = server.open;
  if (open > 0) {
    io.stderr.write(
      `engine: draining ${open} open requests for up to ${formatUs(setup.drainUs)}\n`,
    );
  }
  await server.close({ drainUs: setup.drainUs });
  io.stderr.write(`engine: closed; ${paceText(server)}\n`);
}

function report(server: EngineServer, setup: Setup, io: Io): void {
  const { url, engines } = server;
  const { config, speed = 1 } = setup;
  const { kv } = engines[0]!.scheduler;
  const model = setup.servedModel ?? config.model;
  const pace = speed === 1 ? "" : `, ${speed} times as fast`;
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: 32,
    messages: [{ role: "user", content: "hello" }],
  });
  io.stderr.write(
    `engine: ${url} (${config.model} on ${config.ranks} x ${config.gpu}, ${config.scheduling}, ` +
      `${kv.name} KV of ${kv.totalTokens} tokens${fleetText(setup)}${pace}); ` +
      `base URL for clients ${url}/v1\n` +
      `  try: curl -N ${url}/v1/chat/completions -d '${body}'\n`,
  );
}

/** What came along with a fitted cost. */
function presetText(section: Section): string {
  const presets = section.settings().filter(({ source }) => source.kind === "preset");
  const values = presets.map(({ path, shown }) => `${path.replace("engine.", "")} ${shown}`);
  return values.length === 0 ? "" : `by ${presets[0]!.source.name}: ${values.join(", ")}`;
}

function fleetText(setup: Setup): string {
  const { config, replicas = 1, routing = "round-robin", faults = [] } = setup;
  const { pools } = config;
  const planned = faults.length === 0 ? "" : `, planned faults: ${faults.length}`;
  if (pools !== undefined) {
    return `, ${pools.prefill} prefill + ${pools.decode} decode engines over ${pools.link}${planned}`;
  }
  return `${replicas === 1 ? "" : `, ${replicas} replicas by ${routing}`}${planned}`;
}

/** What its figures are worth: a twin that ran late was slower than the engine that it stands for. */
function paceText(server: EngineServer): string {
  const steps = server.engines.reduce((sum, { totals }) => sum + totals.steps, 0);
  const { worst } = server.pace();
  if (steps === 0) return "no steps";
  if (!worst.isJudged) {
    return `${steps} steps, too few within ${worst.windowS} s to say whether it kept its pace`;
  }
  if (worst.status === "degraded") {
    return `${steps} steps; DEGRADED: it did not keep its pace, in its worst ${worst.windowS} s ${worst.reason}`;
  }
  const share = (100 * worst.lagShare).toFixed(1);
  return `${steps} steps at the promised pace, late by ${share} % of a step at worst`;
}
