/** The processes of the bench: each is started, found ready, and ended by its own id. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const root = new URL("../../", import.meta.url).pathname;
/** Within the project, so that the built files find their packages. */
const BUILT = `${root}node_modules/.cache/manx-bench`;

/** As for release: a loader that keeps function names would slow every closure of the gateway. */
export async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, ["scripts/bundle.mjs", BUILT], { cwd: root });
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill();
});
// A signal alone would end this process without the event above, and leave the others behind.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

export interface Process {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** @param ready finds the base URL in what the process writes. */
function start(args: readonly string[], ready: RegExp): Promise<Process> {
  const child: ChildProcess = spawn(process.execPath, args, { cwd: root, stdio: "pipe" });
  running.add(child);
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => {
      running.delete(child);
      resolve();
    });
  });
  return new Promise((resolve, reject) => {
    let text = "";
    const onText = (part: Buffer): void => {
      text += part.toString("utf8");
      const url = ready.exec(text)?.[1];
      if (url === undefined) return;
      resolve({
        url,
        pid: child.pid ?? 0,
        stop: () => {
          child.kill("SIGTERM");
          return exited;
        },
      });
    };
    child.stdout?.on("data", onText);
    child.stderr?.on("data", onText);
    child.once("exit", () => reject(new Error(`ended before it was ready: ${text}`)));
  });
}

export function startMock(): Promise<Process> {
  return start(["--import", "tsx", `${root}bench/gateway/mock-upstream.ts`], /^(http\S+)/);
}

/** @param more flags. */
export function startGatewayProcess(
  upstream: string,
  more: readonly string[] = [],
): Promise<Process> {
  const args = [`${BUILT}/cli/main.js`, "gateway", "--upstream", upstream, "--port", "0"];
  return start([...args, "--drain", "1s", ...more], /gateway: (http\S+)/);
}
