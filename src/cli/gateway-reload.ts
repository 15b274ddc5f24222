/** Runs a gateway by another configuration when its files change, or at SIGHUP, and says so. */
import { ConfigWatch, readConfigText, stampOf } from "../config/index.ts";
import { ManxError, renderError } from "../core/index.ts";
import type { ConfigDiff, GatewayConfig } from "../gateway/config/index.ts";
import type { Io } from "./io.ts";

export interface GatewayReload {
  /** Now, changed or not. @throws what is wrong with the new one; the old one goes on. */
  reload(): Promise<ConfigDiff>;
  stop(): void;
}

/** The configuration's file as it was read. */
export interface ConfigSource {
  readonly path: string;
  /** From before it was read, so that no change of it is missed. */
  readonly stamp: string;
  readonly text: string;
}

/** @throws MANX_FILE_UNREADABLE */
export async function readSource(path: string): Promise<ConfigSource> {
  return { path, stamp: await stampOf([path]), text: await readConfigText(path) };
}

export interface GatewayReloadOptions {
  readonly source: ConfigSource;
  /** Of the configuration that was read last, in effect or not: what is wrong with it may be put right there. */
  readonly keys: () => GatewayConfig["keys"];
  readonly io: Io;
  /** Reads the new one and runs by it, or rejects. */
  readonly load: () => Promise<ConfigDiff>;
}

export async function watchGatewayFiles(options: GatewayReloadOptions): Promise<GatewayReload> {
  const { source, keys, io, load } = options;
  const { path, stamp } = source;
  const others = (): string[] => {
    const from = keys();
    return from.source === "file" ? [from.path] : [];
  };
  const say = (text: string): unknown => io.stderr.write(`gateway: ${text}\n`);
  let outcome: (() => ConfigDiff) | undefined;
  const onChange = (diff: ConfigDiff): void => {
    outcome = () => diff;
    const { live, restart } = diff;
    say(live.length === 0 ? "read again" : `read again; changed ${inShort(live)}`);
    if (restart.length > 0) say(`needs a restart: ${inShort(restart)}`);
  };
  const onError = (error: ManxError): void => {
    outcome = () => {
      throw error;
    };
    io.stderr.write(`${renderError(error)}\ngateway: runs on as before\n`);
  };
  const watch = new ConfigWatch(
    { paths: () => [path, ...others()], clock: io.clock, load, onChange, onError },
    others().length === 0 ? stamp : `${stamp} ${await stampOf(others())}`,
  );
  const ignore = io.onSignal("hangup", () => void watch.reload());
  return {
    reload: async () => {
      await watch.reload();
      return outcome?.() ?? { live: [], restart: [] };
    },
    stop: () => {
      ignore();
      watch.stop();
    },
  };
}

/** For operators, who may ask before it has begun. @throws MANX_REQUEST_INVALID; what `reload` throws */
export function reloadNow(watch: GatewayReload | undefined): Promise<ConfigDiff> {
  if (watch !== undefined) return watch.reload();
  const error = new ManxError("MANX_REQUEST_INVALID", { what: "the gateway is still starting" });
  return Promise.reject(error);
}

const NAMED_MAX = 8;

/** `models.fast.targets.0.weight` and its neighbours are `models.fast` to who has just changed it. */
function inShort(paths: readonly string[]): string {
  const named = [...new Set(paths.map((path) => path.split(".").slice(0, 2).join(".")))];
  const more = named.length > NAMED_MAX ? ` and ${named.length - NAMED_MAX} more` : "";
  return named.slice(0, NAMED_MAX).join(", ") + more;
}
