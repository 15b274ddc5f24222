/** `manx gateway`: runs the proxy until it is interrupted. */
import type { Command } from "commander";
import { ManxError, parseDurationUs, parseSizeBytes, renderError } from "../core/index.ts";
import type { Gateway, GatewayLimits, GatewayOptions } from "../gateway/index.ts";
import { parseCount } from "./flag-values.ts";
import { addGatewayKeyCommand } from "./gateway-key-command.ts";
import { interrupted } from "./interrupted.ts";
import type { Io } from "./io.ts";

interface GatewayFlags {
  readonly upstream?: string;
  readonly host: string;
  readonly port: string;
  readonly preconnect: string;
  readonly idle: string;
  readonly timeoutConnect: string;
  readonly timeoutHeaders: string;
  readonly timeoutGap: string;
  readonly timeoutWrite: string;
  readonly drain: string;
  readonly bodyLimit: string;
  readonly connections: string;
  readonly verbose?: true;
  readonly json?: true;
}

export function addGatewayCommand(program: Command, io: Io): void {
  const gateway = program
    .command("gateway")
    .enablePositionalOptions()
    .description("Stand between agents and a model: pooled connections, no buffering, metrics.")
    // Checked below and not by commander, which would not look at a misspelt flag any more.
    .option("--upstream <url>", "where requests go, such as https://api.openai.com (needed)")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes any free one", "4000")
    .option("--preconnect <count>", "upstream connections to open ahead and keep open", "4")
    .option("--idle <duration>", "how long an unused upstream connection is kept", "120s")
    .option("--timeout-connect <duration>", "limit to connect to the upstream; 0s = none", "10s")
    .option("--timeout-headers <duration>", "limit to the first byte of an answer", "600s")
    .option("--timeout-gap <duration>", "limit of silence within an answer", "300s")
    .option("--timeout-write <duration>", "limit for a client that does not read", "120s")
    .option("--drain <duration>", "how long open requests may go on after Ctrl-C", "30s")
    .option("--body-limit <size>", "largest request body", "32MiB")
    .option("--connections <count>", "most requests in flight", "2048")
    .option("--verbose", "print every limit in effect")
    .option("--json", "print one JSON object when ready")
    .addHelpText(
      "after",
      "\nExamples:\n  manx gateway --upstream http://127.0.0.1:8000\n" +
        "  OPENAI_BASE_URL=http://127.0.0.1:4000/v1 node agent.js\n",
    )
    .action((flags: GatewayFlags) => runGateway(flags, io));
  addGatewayKeyCommand(gateway, io);
}

async function runGateway(flags: GatewayFlags, io: Io): Promise<void> {
  // Read before the gateway is loaded: a wrong flag is told at once.
  const options = readOptions(flags, io);
  const { startGateway } = await import("../gateway/index.ts");
  const gateway = await startGateway(options);
  report(gateway, new URL(options.upstream).origin, flags, io);
  await interrupted(io.interrupt);
  const open = gateway.inFlight();
  if (open > 0) {
    io.stderr.write(`gateway: draining ${open} open requests for up to ${flags.drain}\n`);
  }
  await gateway.close();
  io.stderr.write("gateway: closed\n");
}

function readOptions(flags: GatewayFlags, io: Io): GatewayOptions {
  const limits: Partial<GatewayLimits> = {
    idleUs: parseDurationUs(flags.idle, "--idle"),
    connectUs: parseDurationUs(flags.timeoutConnect, "--timeout-connect"),
    headersUs: parseDurationUs(flags.timeoutHeaders, "--timeout-headers"),
    gapUs: parseDurationUs(flags.timeoutGap, "--timeout-gap"),
    writeUs: parseDurationUs(flags.timeoutWrite, "--timeout-write"),
    drainUs: parseDurationUs(flags.drain, "--drain"),
    bodyBytes: parseSizeBytes(flags.bodyLimit, "--body-limit"),
    connections: parseCount(flags.connections, "--connections", 1, 65_535),
  };
  if (flags.upstream === undefined) {
    throw new ManxError("MANX_FLAG_MISSING", { where: "--upstream", expected: "a URL" });
  }
  return {
    upstream: flags.upstream,
    host: flags.host,
    port: parseCount(flags.port, "--port", 0, 65_535),
    preconnect: parseCount(flags.preconnect, "--preconnect", 0, 1_024),
    clock: io.clock,
    limits,
  };
}

/** The one ready line, and what stands in the way. */
function report(gateway: Gateway, upstream: string, flags: GatewayFlags, io: Io): void {
  const { open } = gateway.connections();
  io.stderr.write(
    `gateway: ${gateway.url} -> ${upstream} (${open} connections open); ` +
      `base URL for OpenAI clients ${gateway.url}/v1, for Anthropic clients ${gateway.url}\n`,
  );
  if (gateway.warning !== null) {
    io.stderr.write(`${renderError(gateway.warning).replace(/^error/, "warning")}\n`);
  }
  if (flags.verbose === true) {
    for (const [name, value] of Object.entries(gateway.limits)) {
      io.stderr.write(`  ${name} ${value}\n`);
    }
  }
  if (flags.json !== true) return;
  const { url, limits, warning } = gateway;
  io.stdout.write(
    `${JSON.stringify({ url, upstream, connections: gateway.connections(), limits, warning })}\n`,
  );
}
