/** `manx gateway`: runs the proxy until it is interrupted, and by another configuration when its file changes. */
import type { Command } from "commander";
import type { GivenValue } from "../config/index.ts";
import { durationText, formatUs, renderError } from "../core/index.ts";
import type { ConfigDiff, GatewayConfig } from "../gateway/config/index.ts";
import type { Gateway } from "../gateway/index.ts";
import { addGatewayFlags, type GatewayFlags, readGatewayFlags } from "./gateway-flags.ts";
import { addGatewayKeyCommand } from "./gateway-key-command.ts";
import { limitLines } from "./gateway-limits.ts";
import type { ConfigSource, GatewayReload } from "./gateway-reload.ts";
import { addGatewayTopCommand } from "./gateway-top-command.ts";
import { interrupted } from "./interrupted.ts";
import type { Io } from "./io.ts";

export function addGatewayCommand(program: Command, io: Io): void {
  const gateway = program
    .command("gateway")
    .enablePositionalOptions()
    .description("Stand between agents and models: pools, retries, hedges, lanes, metrics.");
  addGatewayFlags(gateway)
    .addHelpText(
      "after",
      "\nExamples:\n  manx gateway --upstream http://127.0.0.1:8000\n" +
        "  OPENAI_BASE_URL=http://127.0.0.1:4000/v1 node agent.js\n" +
        "  manx gateway --config manx.config.jsonc\n" +
        "  manx gateway key create --tenant team-a\n",
    )
    .action((flags: GatewayFlags) => runGateway(flags, io));
  addGatewayKeyCommand(gateway, io);
  addGatewayTopCommand(gateway, io);
}

async function runGateway(flags: GatewayFlags, io: Io): Promise<void> {
  // Read before the gateway is loaded: a wrong flag is told at once.
  const given = readGatewayFlags(flags);
  const read = (text: string | undefined) => readConfig(flags, given, text, io);
  const load = async (text: string | undefined) => (await read(text)).config;
  const { default: cluster } = await import("node:cluster");
  if (cluster.isWorker) {
    const { workForSupervisor } = await import("./gateway-workers.ts");
    return workForSupervisor(load, io);
  }
  const { readSource } = await import("./gateway-reload.ts");
  const source = flags.config === undefined ? undefined : await readSource(flags.config);
  const { config, notices } = await read(source?.text);
  for (const { level, error } of notices) {
    io.stderr.write(`${renderError(error).replace(/^error/, level)}\n`);
  }
  if (config.listen.workers === 1) return runAlone({ config, source, load, flags, io });
  const { superviseGateway } = await import("./gateway-workers.ts");
  const [isVerbose, isJson] = [flags.verbose === true, flags.json === true];
  return superviseGateway({ config, source, isVerbose, isJson, io, load });
}

interface RunAloneOptions {
  readonly config: GatewayConfig;
  /** undefined for flags alone, which cannot change. */
  readonly source: ConfigSource | undefined;
  readonly load: (text: string | undefined) => Promise<GatewayConfig>;
  readonly flags: GatewayFlags;
  readonly io: Io;
}

async function runAlone({ config, source, load, flags, io }: RunAloneOptions): Promise<void> {
  const { startConfigured } = await import("../gateway/index.ts");
  const { reloadNow, watchGatewayFiles } = await import("./gateway-reload.ts");
  let watch: GatewayReload | undefined;
  let latest = config;
  const loadAgain = async (): Promise<GatewayConfig> => {
    latest = await load(undefined);
    return latest;
  };
  const gateway = await startConfigured(config, {
    clock: io.clock,
    ...(source !== undefined && { reload: () => reloadNow(watch) }),
    onNotice: (notice) => io.stderr.write(`${renderError(notice).replace(/^error/, "warning")}\n`),
  });
  report(gateway, flags, io);
  const again = { keys: () => latest.keys, io, load: () => reload(gateway, loadAgain) };
  watch = source === undefined ? undefined : await watchGatewayFiles({ source, ...again });
  await interrupted(io.interrupt);
  watch?.stop();
  const open = gateway.inFlight();
  if (open > 0) {
    const forUpTo = durationText(gateway.limits.drainUs);
    io.stderr.write(`gateway: draining ${open} open requests for up to ${forUpTo}\n`);
  }
  const forget = io.onSignal("again", () => gateway.cut());
  await gateway.close();
  forget();
  io.stderr.write("gateway: closed\n");
}

async function reload(gateway: Gateway, load: () => Promise<GatewayConfig>): Promise<ConfigDiff> {
  const { diffConfig } = await import("../gateway/config/index.ts");
  try {
    const config = await load();
    const diff = diffConfig(gateway.config, config);
    await gateway.reload(config);
    return diff;
  } catch (thrown) {
    gateway.reloadFailed();
    throw thrown;
  }
}

/** @throws also for a secret that is not there. */
async function readConfig(
  flags: GatewayFlags,
  given: readonly GivenValue[],
  text: string | undefined,
  io: Io,
) {
  const { configFromUpstream, missingSecrets, readGatewayConfig } = await import(
    "../gateway/config/index.ts"
  );
  const read =
    flags.upstream === undefined
      ? await readGatewayConfig(flags.config, { env: io.env, flags: given, text })
      : configFromUpstream(flags.upstream, given, io.env);
  const [missing] = missingSecrets(read.config);
  if (missing !== undefined) throw missing;
  return read;
}

function rehearsalLine({ rehearsal }: Gateway): string {
  if (rehearsal === null) return "";
  const { calls, failed, tookUs } = rehearsal;
  const but = failed === 0 ? "" : `, ${failed} of them without an answer`;
  return `gateway: rehearsed ${calls} calls in ${formatUs(tookUs)}${but}\n`;
}

/** The one ready line, and what stands in the way. */
function report(gateway: Gateway, flags: GatewayFlags, io: Io): void {
  const { open } = gateway.connections();
  const { url, limits, warning } = gateway;
  const upstreams = gateway.config.upstreams.flatMap(({ urls }) =>
    urls.map((one) => new URL(one).origin),
  );
  const shown = upstreams.length > 3 ? `${upstreams.length} upstreams` : upstreams.join(", ");
  io.stderr.write(
    `gateway: ${url} -> ${shown} (${open} connections open); ` +
      `base URL for OpenAI clients ${url}/v1, for Anthropic clients ${url}\n`,
  );
  const { adminUrl } = gateway;
  if (adminUrl !== null)
    io.stderr.write(`gateway: operators reach it at ${adminUrl}/admin/state\n`);
  if (warning !== null) {
    io.stderr.write(`${renderError(warning).replace(/^error/, "warning")}\n`);
  }
  if (flags.verbose === true) io.stderr.write(rehearsalLine(gateway) + limitLines(limits));
  if (flags.json !== true) return;
  const connections = gateway.connections();
  io.stdout.write(`${JSON.stringify({ url, upstreams, connections, limits, warning })}\n`);
}
