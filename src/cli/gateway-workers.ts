/** `manx gateway --workers N`: what the supervisor says on the terminal and hears as signals, and the workers' own start. */
import { readConfigText } from "../config/index.ts";
import { durationText, type ManxError, renderError } from "../core/index.ts";
import type { GatewayConfig } from "../gateway/config/index.ts";
import { limitsInEffect } from "../gateway/limits.ts";
import {
  errorFrom,
  forkWorker,
  type LoadConfig,
  leaveSupervisor,
  runWorker,
  type Serving,
  Supervisor,
  shareNotices,
  supervisorPort,
} from "../gateway/workers/index.ts";
import { limitLines } from "./gateway-limits.ts";
import {
  type ConfigSource,
  type GatewayReload,
  reloadNow,
  watchGatewayFiles,
} from "./gateway-reload.ts";
import { interrupted } from "./interrupted.ts";
import type { Io } from "./io.ts";

export interface GatewayWorkersOptions {
  readonly config: GatewayConfig;
  /** undefined for flags alone, which cannot change. */
  readonly source: ConfigSource | undefined;
  readonly isVerbose: boolean;
  readonly isJson: boolean;
  readonly io: Io;
  readonly load: LoadConfig;
}

export async function superviseGateway(options: GatewayWorkersOptions): Promise<void> {
  const { config, source, load, io } = options;
  const say = (words: string): unknown => io.stderr.write(`gateway: ${words}\n`);
  const warn = (notice: ManxError): unknown => io.stderr.write(`${warningText(notice)}\n`);
  for (const notice of shareNotices(config)) say(`warning: ${notice}`);
  let watch: GatewayReload | undefined;
  let latest = config;
  const loadAgain: LoadConfig = async (text) => {
    latest = await load(text);
    return latest;
  };
  const supervisor = new Supervisor({
    clock: io.clock,
    config,
    fork: forkWorker,
    text: source?.text,
    readText: async () => (source === undefined ? undefined : readConfigText(source.path)),
    load: loadAgain,
    ...(source !== undefined && { reload: () => reloadNow(watch) }),
    onNotice: warn,
  });
  // From the start on, since a signal that nobody listens for ends the process.
  const forget = [
    io.onSignal("again", () => supervisor.cut()),
    io.onSignal("restart", () => void renew(supervisor, say)),
    io.onSignal("hangup", () => undefined),
  ];
  const started = supervisor.start();
  // A start that hangs must not keep a person from leaving; how it ends is then nobody's concern.
  started.catch(() => undefined);
  await Promise.race([started, interrupted(io.interrupt)]);
  if (!io.interrupt.aborted) {
    report(await started, supervisor, options);
    const again = { keys: () => latest.keys, io, load: () => supervisor.reload() };
    if (source !== undefined) watch = await watchGatewayFiles({ source, ...again });
    await interrupted(io.interrupt);
  }
  watch?.stop();
  say(`${supervisor.serving} workers drain for up to ${durationText(config.limits.drainUs)}`);
  await supervisor.leave();
  for (const each of forget) each();
  say("closed");
}

async function renew(supervisor: Supervisor, say: (text: string) => unknown): Promise<void> {
  const renewed = await supervisor.renew();
  if (renewed === undefined) say("workers are being renewed already");
  else say(`renewed ${renewed} of ${supervisor.config.listen.workers} workers`);
}

/** A worker goes by what its supervisor tells it: a terminal or a service manager sends the same signals to both. */
export async function workForSupervisor(load: LoadConfig, { clock, onSignal }: Io): Promise<void> {
  for (const signal of ["hangup", "restart", "again"] as const) onSignal(signal, () => undefined);
  await runWorker({ clock, port: supervisorPort(), load });
  leaveSupervisor();
}

/** The one ready line, and what stands in the way. */
function report(serving: Serving, supervisor: Supervisor, options: GatewayWorkersOptions): void {
  const { io, config, isVerbose, isJson } = options;
  const { url, warning } = serving;
  const { serving: workers } = supervisor;
  io.stderr.write(
    `gateway: ${url} -> ${config.upstreams.length} upstreams (${workers} workers); ` +
      `base URL for OpenAI clients ${url}/v1, for Anthropic clients ${url}\n`,
  );
  const { adminUrl } = supervisor;
  if (adminUrl !== null)
    io.stderr.write(`gateway: operators reach it at ${adminUrl}/admin/state\n`);
  if (warning !== null) io.stderr.write(`${warningText(errorFrom(warning))}\n`);
  const limits = limitsInEffect(config);
  if (isVerbose) io.stderr.write(limitLines(limits));
  if (isJson) io.stdout.write(`${JSON.stringify({ url, workers, limits, warning })}\n`);
}

function warningText(notice: ManxError): string {
  return renderError(notice).replace(/^error/, "warning");
}
