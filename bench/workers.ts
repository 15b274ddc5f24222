/**
 * What two workers carry against one, in interleaved rounds, and what each answer costs in CPU over all processes of the
 * gateway: where there are fewer cores than processes, the first says how small the machine is, and the second whether
 * workers would scale on a larger one.
 *
 *     npm run bench:workers [-- --rounds 5] [-- --workers 1,2]
 *
 * Client, upstream, supervisor and workers all need a core of their own for the ratio to mean something: from six on.
 */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { sampleQuantile } from "../src/stats/index.ts";
import { closedLoop } from "./gateway/client.ts";
import { build, startGatewayProcess, startMock } from "./gateway/processes.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    workers: { type: "string", default: "1,2" },
  },
});
const rounds = Number(values.rounds);
const counts = values.workers.split(",").map(Number);
const CORES_FOR_RATIO = 6;
const load = { model: "mock", connections: 32, warmMs: 1_000, runMs: 3_000 };

interface Round {
  readonly perS: number;
  /** CPU of all its processes, µs an answer, warm-up included. */
  readonly cpuUs: number;
  /** Of the supervisor alone; 0 where there is none. */
  readonly supervisorUs: number;
  /** Smallest share of the work that a worker had, of an even one. */
  readonly balance: number;
  readonly errors: number;
}

/** User and system time in ticks of 10 ms, and the parent. */
function statOf(pid: number): { readonly parent: number; readonly ticks: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return statOf(each).parent === pid;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}

async function round(upstream: string, workers: number): Promise<Round> {
  const gateway = await startGatewayProcess(upstream, ["--workers", String(workers)]);
  try {
    // The ready line is the supervisor's last word: all workers serve.
    const children = workers === 1 ? [] : childrenOf(gateway.pid);
    const all = [gateway.pid, ...children];
    const before = all.map((pid) => statOf(pid).ticks);
    const { perS, errors } = await closedLoop(gateway.url, load);
    const cpuUs = all.map((pid, i) => (statOf(pid).ticks - before[i]!) * 10_000);
    const answers = (perS * (load.warmMs + load.runMs)) / 1_000;
    const sum = cpuUs.reduce((total, one) => total + one, 0);
    const serving = children.length === 0 ? cpuUs : cpuUs.slice(1);
    const even = serving.reduce((total, one) => total + one, 0) / serving.length;
    return {
      perS,
      errors,
      cpuUs: sum / answers,
      supervisorUs: children.length === 0 ? 0 : cpuUs[0]! / answers,
      balance: Math.min(...serving) / even,
    };
  } finally {
    await gateway.stop();
  }
}

await build();
const mock = await startMock();
const seen = new Map<number, Round[]>(counts.map((count) => [count, []]));
for (let i = 0; i < rounds; i += 1) {
  for (const count of counts) seen.get(count)!.push(await round(mock.url, count));
}
await mock.stop();

const median = (of: readonly number[]): number =>
  sampleQuantile(
    [...of].sort((a, b) => a - b),
    0.5,
  ).value;
const [base] = counts;
const baseRounds = seen.get(base!)!;
const cores = availableParallelism();
console.log(
  `${cores} cores; medians of ${rounds} interleaved rounds, ${load.connections} connections`,
);
console.log("workers  answers/s  ratio  CPU µs/answer  supervisor  least busy worker  errors");
for (const [count, all] of seen) {
  const ratio = median(all.map(({ perS }, i) => perS / baseRounds[i]!.perS));
  const cells = [
    String(count).padStart(7),
    median(all.map(({ perS }) => perS))
      .toFixed(0)
      .padStart(9),
    ratio.toFixed(2).padStart(5),
    median(all.map(({ cpuUs }) => cpuUs))
      .toFixed(0)
      .padStart(13),
    median(all.map(({ supervisorUs }) => supervisorUs))
      .toFixed(1)
      .padStart(10),
    `${(100 * median(all.map(({ balance }) => balance))).toFixed(0)} % of even`.padStart(17),
    String(all.reduce((sum, { errors }) => sum + errors, 0)).padStart(6),
  ];
  console.log(cells.join("  "));
}
if (cores < CORES_FOR_RATIO) {
  console.log(
    `Fewer than ${CORES_FOR_RATIO} cores: client, upstream and workers share them, so the ratio says nothing about workers.`,
  );
}
