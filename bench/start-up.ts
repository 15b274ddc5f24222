/**
 * How long `import "manx"` and `manx --help` take in a fresh process. The import is measured as whole processes, with
 * and without it, so that resolving and reading files count; rounds alternate. Build first: this runs what users run.
 *
 *     npm run bench:start-up
 */
import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";

const ROUNDS = 15;
const GOAL_IMPORT_MS = 30;
const GOAL_HELP_MS = 150;

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const built = (name: string): string => new URL(`../dist/${name}.js`, import.meta.url).href;

const BARE = ["--input-type=module", "-e", ";"];
const importOf = (name: string): string[] => {
  return ["--input-type=module", "-e", `import ${JSON.stringify(built(name))};`];
};
const IMPORT = importOf("index");
const RUNTIME = importOf("runtime/index");
const HELP = [path("../dist/cli/main.js"), "--help"];

function processMs(args: readonly string[]): number {
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return ms;
}

for (const args of [BARE, IMPORT, RUNTIME, HELP]) processMs(args); // fills the page cache
const bare: number[] = [];
const added: number[] = [];
const runtime: number[] = [];
const help: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const bareMs = processMs(BARE);
  bare.push(bareMs);
  // Paired: a slow second of the machine slows both sides of the difference.
  added.push(processMs(IMPORT) - bareMs);
  runtime.push(processMs(RUNTIME) - bareMs);
  help.push(processMs(HELP));
}

console.log(
  `${ROUNDS} fresh processes each, node ${process.version}; ms. Load average ` +
    `${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores: above one a core, time waiting for it counts too`,
);
console.log("                        median     min     max");
report("bare node", bare);
report('import "manx" adds', added, GOAL_IMPORT_MS);
report('import "manx/runtime"', runtime);
report("manx --help takes", help, GOAL_HELP_MS);

function report(name: string, times: number[], goal?: number): void {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(ROUNDS / 2)]!;
  const cells = [median, sorted[0]!, sorted.at(-1)!].map((ms) => ms.toFixed(1).padStart(6));
  const verdict =
    goal === undefined
      ? ""
      : `   goal < ${goal}: ${median < goal ? "met" : "missed"} (${(median / goal).toFixed(2)} of it)`;
  console.log(`${name.padEnd(23)} ${cells.join("  ")}${verdict}`);
}
