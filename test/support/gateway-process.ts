/** `manx gateway` as a process of its own, by a configuration file, with signals to send it; gone when the test ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sleep } from "./replay-server.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** Compiling from source on a busy machine takes its time. */
const START_MS = 60_000;

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  /** What it has said so far. */
  said(): string;
  /** Until it has said so. */
  says(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** @param onFinished takes what must be done in the end, whatever becomes of the test. */
export async function gatewayProcess(
  args: readonly string[],
  onFinished: (close: () => Promise<void>) => void,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", MAIN, "gateway", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  child.stderr!.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const ended = once(child, "exit").then(
    ([code, signal]) => (signal ?? code) as number | NodeJS.Signals,
  );
  onFinished(() => end(child));
  const says = (wanted: string): Promise<void> =>
    waitFor(
      () => text.includes(wanted),
      () => `${JSON.stringify(wanted)} in: ${text}`,
    );
  await Promise.race([
    says("base URL for OpenAI clients"),
    ended.then((how) => Promise.reject(new Error(`ended with ${how}: ${text}`))),
  ]);
  const url = /gateway: (http:\S+) ->/.exec(text)![1]!;
  return {
    url,
    pid: child.pid!,
    said: () => text,
    says,
    kill: (signal) => child.kill(signal),
    ended,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const patience = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(patience);
}

export async function waitFor(
  holds: () => boolean | Promise<boolean>,
  what: () => string = () => "what was waited for",
): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS; waitedMs += 20) {
    if (await holds()) return;
    await sleep(20);
  }
  throw new Error(`not within ${START_MS / 1_000} s: ${what()}`);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
