/**
 * Speed and memory of the virtual engine, against the limits that the project set itself. Run: npm run bench:engine
 *
 * 1. The Azure conversation hour (19,366 requests): seconds, request-steps per second, resident memory.
 * 2. The Mooncake conversation hour (12,031 requests, prompts of 12,000 tokens) on 8 replicas with a prefix cache.
 * 3. The cost of a request and of a request-step after 10,000, 100,000 and 1,000,000 requests: it must not grow with what
 *    has finished. `--short` leaves out the million.
 *
 * Times are the process's own CPU time beside wall time: on a machine that others use, too, only the first is ours.
 */
import { performance } from "node:perf_hooks";
import { Random } from "../src/clock/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../src/engine/index.ts";
import {
  type Replay,
  type ReplayOptions,
  readTrace,
  replay,
  type WorkRequest,
} from "../src/load/index.ts";

const LIMIT_REQUEST_STEPS_PER_S = 1_000_000;
const LIMIT_AZURE_S = 5;
const LIMIT_MOONCAKE_S = 2.5;
const LIMIT_MEMORY_BYTES = 300e6;
const LIMIT_MILLION_S = 60;
const LIMIT_MILLION_BYTES = 1e9;
const LIMIT_GROWTH = 1.25;
const ROUNDS = 5;

interface Timed {
  readonly done: Replay;
  readonly wallS: number;
  readonly cpuS: number;
}

function timed(options: Omit<ReplayOptions, "name" | "workload" | "arrivals" | "seed">): Timed {
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const done = replay({ ...options, name: "", workload: "bench", arrivals: "bench", seed: 42 });
  const { user, system } = process.cpuUsage(cpu);
  return { done, wallS: (performance.now() - startMs) / 1_000, cpuS: (user + system) / 1e6 };
}

function withMedianCpu(run: () => Timed): Timed {
  const runs = Array.from({ length: ROUNDS }, run).sort((a, b) => a.cpuS - b.cpuS);
  return runs[Math.floor(runs.length / 2)]!;
}

const times = ({ wallS, cpuS }: Timed): string =>
  `${cpuS.toFixed(2)} s of CPU, ${wallS.toFixed(2)} s of wall time`;
const verdict = (value: number, limit: number, unit: string): string =>
  `limit ${limit} ${unit}: ${value <= limit ? "kept" : "MISSED"}`;

/** Poisson arrivals at 20/s, short answers: many requests, few steps each. */
function synthetic(n: number): WorkRequest[] {
  const random = new Random(42, "bench");
  let atUs = 0;
  return Array.from({ length: n }, () => {
    atUs += Math.round(random.exponential(50_000));
    return { atUs, promptTokens: 1 + random.int(400), outputTokens: 1 + random.int(20), row: 0 };
  });
}

async function printAzure(): Promise<void> {
  const { requests } = await readTrace("data/azure-llm-2023/conversation.csv.gz");
  console.log(`Azure conversation hour, ${requests.length} requests, ${ROUNDS} rounds, medians`);
  for (const scheduling of ["static", "continuous", "chunked"] as const) {
    const isStatic = scheduling === "static";
    const memory = isStatic ? "contiguous" : "paged";
    const config: EngineConfig = { ...ENGINE_DEFAULTS, scheduling, memory };
    const run = withMedianCpu(() => timed({ requests, replicas: isStatic ? 2 : 1, config }));
    const rate = run.done.totals.requestSteps / run.cpuS;
    console.log(
      `  ${scheduling.padEnd(11)} ${times(run)} (${verdict(run.cpuS, LIMIT_AZURE_S, "s")}), ` +
        `${(rate / 1e6).toFixed(1)} M request-steps/s (${(rate / LIMIT_REQUEST_STEPS_PER_S).toFixed(1)}× the limit)`,
    );
  }
  const { rss } = process.memoryUsage();
  console.log(
    `  resident ${(rss / 1e6).toFixed(0)} MB (${verdict(rss / 1e6, LIMIT_MEMORY_BYTES / 1e6, "MB")})`,
  );
}

async function printMooncake(): Promise<void> {
  const { requests } = await readTrace("data/mooncake-fast25/conversation.jsonl.gz");
  console.log(`Mooncake conversation hour, ${requests.length} requests, 8 replicas, prefix cache`);
  const config: EngineConfig = { ...ENGINE_DEFAULTS, memory: "prefix", contextMax: 131_072 };
  for (const routing of ["round-robin", "prefix"] as const) {
    const run = withMedianCpu(() => timed({ requests, replicas: 8, routing, config }));
    const { hitTokens, queriedTokens } = run.done.prefix;
    console.log(
      `  ${routing.padEnd(11)} ${times(run)} (${verdict(run.cpuS, LIMIT_MOONCAKE_S, "s")}), ` +
        `${run.done.totals.steps} steps, ${((100 * hitTokens) / queriedTokens).toFixed(1)} % of prompt tokens found`,
    );
  }
}

function printGrowth(): void {
  const sizes = process.argv.includes("--short") ? [10_000, 100_000] : [10_000, 100_000, 1_000_000];
  console.log("Cost by number of requests");
  let first = Number.NaN;
  // Once for the compiler, so that the smallest does not pay for all.
  timed({ requests: synthetic(sizes[0]!), config: ENGINE_DEFAULTS });
  for (const n of sizes) {
    const run = timed({ requests: synthetic(n), config: ENGINE_DEFAULTS });
    const { totals } = run.done;
    const ns = (count: number): string => ((run.cpuS * 1e9) / count).toFixed(0);
    const perStep = run.cpuS / totals.requestSteps;
    if (Number.isNaN(first)) first = perStep;
    const growth = perStep / first;
    const { rss } = process.memoryUsage();
    console.log(
      `  ${String(n).padStart(9)} requests: ${times(run)}; ${ns(n)} ns a request, ${ns(totals.steps)} a step, ` +
        `${ns(totals.requestSteps)} a request-step (${growth.toFixed(2)}×, ${verdict(growth, LIMIT_GROWTH, "×")}), ` +
        `resident ${(rss / 1e6).toFixed(0)} MB`,
    );
    if (n < 1e6) continue;
    console.log(
      `  a million: ${verdict(run.wallS, LIMIT_MILLION_S, "s of wall time")}, ` +
        verdict(rss / 1e6, LIMIT_MILLION_BYTES / 1e6, "MB"),
    );
  }
}

await printAzure();
await printMooncake();
printGrowth();
