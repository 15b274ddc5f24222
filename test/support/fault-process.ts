/** Starts and asks a gateway in a process of its own (`fault-child.ts`); it is ended with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { GatewayOptions } from "../../src/gateway/index.ts";

export interface Holdings {
  readonly inFlight: number;
  readonly busy: number;
  readonly timers: number;
  readonly rssMb: number;
}

export interface GatewayProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has written to its error output. */
  stderr(): string;
  holds(): Promise<Holdings>;
  isAlive(): boolean;
}

const CHILD = fileURLToPath(new URL("./fault-child.ts", import.meta.url));

/** @param filesMax most file descriptors that the process may have. */
export async function startGatewayProcess(
  options: GatewayOptions,
  filesMax?: number,
): Promise<GatewayProcess> {
  const limit = filesMax === undefined ? "" : `ulimit -n ${filesMax}; `;
  const child = spawn(
    "/bin/sh",
    ["-c", `${limit}exec "$0" --import tsx "$@"`, process.execPath, CHILD, JSON.stringify(options)],
    { stdio: "pipe" },
  );
  let stderr = "";
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString("utf8");
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the gateway's process has ended: ${stderr}`);
    return value;
  };
  onTestFinished(async () => {
    const gone = new Promise((resolve) => child.once("close", resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill();
      await gone;
    }
  });
  const { url } = JSON.parse(await next()) as { url: string };
  return {
    url,
    child,
    stderr: () => stderr,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    holds: async () => {
      child.stdin.write("\n");
      return JSON.parse(await next()) as Holdings;
    },
  };
}
