/** `manx gateway`: runs the proxy until it is interrupted, and by another configuration when its file changes. */
import type { Command } from "commander";
import type { GivenValue } from "../config/index.ts";
import { durationText, type ManxError, renderError } from "../core/index.ts";
import type { Gateway } from "../gateway/index.ts";
import { addGatewayFlags, type GatewayFlags, readGatewayFlags } from "./gateway-flags.ts";
import { addGatewayKeyCommand } from "./gateway-key-command.ts";
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
}

async function runGateway(flags: GatewayFlags, io: Io): Promise<void> {
  // Read before the gateway is loaded: a wrong flag is told at once.
  const given = readGatewayFlags(flags);
  const { config, notices } = await readConfig(flags, given, io);
  const { missingSecrets } = await import("../gateway/config/index.ts");
  for (const { level, error } of notices) {
    io.stderr.write(`${renderError(error).replace(/^error/, level)}\n`);
  }
  const [missing] = missingSecrets(config);
  if (missing !== undefined) throw missing;
  const { startConfigured } = await import("../gateway/index.ts");
  const gateway = await startConfigured(config, {
    clock: io.clock,
    onNotice: (notice) => io.stderr.write(`${renderError(notice).replace(/^error/, "warning")}\n`),
  });
  report(gateway, flags, io);
  const watch = flags.config === undefined ? undefined : await watchFile(gateway, flags, given, io);
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

async function readConfig(flags: GatewayFlags, given: readonly GivenValue[], io: Io) {
  const { configFromUpstream, readGatewayConfig } = await import("../gateway/config/index.ts");
  return flags.upstream === undefined
    ? readGatewayConfig(flags.config, { env: io.env, flags: given })
    : configFromUpstream(flags.upstream, given, io.env);
}

/** The file and the keys that it names: a change, or SIGHUP, and the gateway runs by what they say then. */
async function watchFile(
  gateway: Gateway,
  flags: GatewayFlags,
  given: readonly GivenValue[],
  io: Io,
): Promise<{ stop(): void }> {
  const { ConfigWatch, stampOf } = await import("../config/index.ts");
  const { diffConfig } = await import("../gateway/config/index.ts");
  const { keys } = gateway.config;
  const paths = [flags.config!, ...(keys.source === "file" ? [keys.path] : [])];
  const say = (text: string): unknown => io.stderr.write(`gateway: ${text}\n`);
  const refuse = (error: ManxError): void => {
    gateway.reloadFailed();
    io.stderr.write(`${renderError(error)}\ngateway: runs on as before\n`);
  };
  const watch = new ConfigWatch(
    {
      paths,
      clock: io.clock,
      load: async () => {
        const { config } = await readConfig(flags, given, io);
        const { live, restart } = diffConfig(gateway.config, config);
        await gateway.reload(config);
        return { live, restart };
      },
      onChange: ({ live, restart }) => {
        say(live.length === 0 ? "read again" : `read again; changed ${inShort(live)}`);
        if (restart.length > 0) say(`needs a restart: ${inShort(restart)}`);
      },
      onError: refuse,
    },
    await stampOf(paths),
  );
  const ignore = io.onSignal("hangup", () => void watch.reload());
  return {
    stop: () => {
      ignore();
      watch.stop();
    },
  };
}

const NAMED_MAX = 8;

/** `models.fast.targets.0.weight` and its neighbours are `models.fast` to who has just changed it. */
function inShort(paths: readonly string[]): string {
  const named = [...new Set(paths.map((path) => path.split(".").slice(0, 2).join(".")))];
  const more = named.length > NAMED_MAX ? ` and ${named.length - NAMED_MAX} more` : "";
  return named.slice(0, NAMED_MAX).join(", ") + more;
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
  if (warning !== null) {
    io.stderr.write(`${renderError(warning).replace(/^error/, "warning")}\n`);
  }
  if (flags.verbose === true) {
    for (const [name, value] of Object.entries(limits)) io.stderr.write(`  ${name} ${value}\n`);
  }
  if (flags.json !== true) return;
  const connections = gateway.connections();
  io.stdout.write(`${JSON.stringify({ url, upstreams, connections, limits, warning })}\n`);
}
