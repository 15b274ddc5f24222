/**
 * What the first requests of a gateway pay, with its rehearsal and without: fresh processes in interleaved pairs, each with 500
 * JSON requests at 100 a second and 250 streams at 50 a second as the first that it ever sees. The same two loads once more,
 * after the process has been driven to its ceiling, are the limit: code that is as hot as it gets.
 *
 *     npm run bench:warm-start [-- --rounds 5] [-- --calls 3000]
 *
 * CPU is of the whole process, its compiler threads with it. Latencies are from the intended start and hold the mock's
 * answer too, which all sides have alike.
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sampleQuantile } from "../src/stats/index.ts";
import { closedLoop, type OpenLoop, openLoop } from "./gateway/client.ts";
import { build, startGatewayProcess, startMock } from "./gateway/processes.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, calls: { type: "string", default: "3000" } },
});
const rounds = Number(values.rounds);

const log = join(mkdtempSync(join(tmpdir(), "manx-bench-")), "access.log");
const ARMED = ["--lanes", "--hedge", "--deadline", "120s", "--access-log", log];
const LOADS = [
  { name: "JSON", model: "mock", perS: 100, runMs: 5_000, ceiling: "mock" },
  { name: "streams", model: "mock-20-5", perS: 50, runMs: 5_000, ceiling: "mock-64-0" },
] as const;
/** Each to its ceiling, for this long. */
const HEAT_MS = 4_000;

interface Measured {
  readonly latenciesMs: readonly number[];
  readonly cpuUsPerRequest: number;
  readonly errors: number;
}

/** By load, of one process. */
interface Run {
  readonly startMs: number;
  readonly fresh: readonly Measured[];
  readonly hot: readonly Measured[];
}

const TICK_US = 10_000;

function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

async function measure(url: string, pid: number, seed: number): Promise<Measured[]> {
  const all: Measured[] = [];
  for (const { model, perS, runMs } of LOADS) {
    const beforeUs = cpuUs(pid);
    const result: OpenLoop = await openLoop(url, { model, perS, runMs, warmMs: 0, seed });
    const { latenciesMs, errors } = result;
    const cpuUsPerRequest = (cpuUs(pid) - beforeUs) / latenciesMs.length;
    all.push({ latenciesMs, cpuUsPerRequest, errors });
  }
  return all;
}

async function heat(url: string): Promise<void> {
  for (const { ceiling: model } of LOADS) {
    await closedLoop(url, { model, connections: 32, warmMs: 0, runMs: HEAT_MS });
  }
}

async function run(upstream: string, flags: readonly string[], seed: number): Promise<Run> {
  const beganMs = performance.now();
  const gateway = await startGatewayProcess(upstream, flags);
  const startMs = performance.now() - beganMs;
  try {
    const fresh = await measure(gateway.url, gateway.pid, seed);
    await heat(gateway.url);
    return { startMs, fresh, hot: await measure(gateway.url, gateway.pid, seed) };
  } finally {
    await gateway.stop();
  }
}

function median(of: readonly number[]): number {
  return quantile(of, 0.5);
}

function quantile(of: readonly number[], q: number): number {
  return sampleQuantile(
    [...of].sort((a, b) => a - b),
    q,
  ).value;
}

/** Medians over rounds: of a quantile within each, and of CPU. */
function cells(runs: readonly (readonly Measured[])[], load: number): string[] {
  const each = runs.map((measured) => measured[load]!);
  const at = (q: number): string =>
    median(each.map(({ latenciesMs }) => quantile(latenciesMs, q))).toFixed(2);
  const n = each.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0);
  const cpu = each.map(({ cpuUsPerRequest }) => cpuUsPerRequest);
  const spread = `${Math.min(...cpu).toFixed(0)} to ${Math.max(...cpu).toFixed(0)}`;
  return [`${at(0.5)} / ${at(0.99)} (n ${n})`, `${median(cpu).toFixed(0)} (${spread})`];
}

function row(name: string, runs: readonly (readonly Measured[])[], startMs = Number.NaN): string {
  const start = Number.isNaN(startMs) ? "" : `${(startMs / 1_000).toFixed(1)} s`;
  const errors = runs.flat().reduce((sum, one) => sum + one.errors, 0);
  const all = [name, start, ...LOADS.flatMap((_, load) => cells(runs, load)), String(errors)];
  return `| ${all.join(" | ")} |`;
}

await build();
const mock = await startMock();
const sides = [
  { name: "plain", more: [] as string[] },
  { name: "armed", more: ARMED },
].flatMap(({ name, more }) => [
  { name: `${name}, rehearsed`, flags: [...more, "--rehearsal", values.calls], runs: [] as Run[] },
  { name: `${name}, not`, flags: [...more, "--rehearsal", "0"], runs: [] as Run[] },
]);
try {
  // The client and the mock are to be as hot for the first side as for the last.
  await heat(mock.url);
  await measure(mock.url, mock.pid, 0);
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that a drift of the machine does not favour one side.
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      side.runs.push(await run(mock.url, side.flags, round));
      process.stderr.write(`round ${round + 1} of ${rounds}: ${side.name} done\n`);
    }
  }
  console.log(
    [
      `${rounds} interleaved rounds of fresh processes; the first 500 JSON requests at 100/s, then the first 250 streams at 50/s;`,
      `rehearsal of ${values.calls} calls; Node ${process.version}; ms and µs; CPU of all threads: median (least to most)`,
      "",
      "| | start | JSON p50 / p99 | CPU per request | TTFT p50 / p99 | CPU per stream | errors |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...sides.flatMap(({ name, runs }) => [
        row(
          `${name}: fresh`,
          runs.map(({ fresh }) => fresh),
          median(runs.map(({ startMs }) => startMs)),
        ),
        row(
          `${name}: hot`,
          runs.map(({ hot }) => hot),
        ),
      ]),
    ].join("\n"),
  );
} finally {
  await mock.stop();
}
