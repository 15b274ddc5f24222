/**
 * Speed and memory of the virtual engine, against the limits that the project set itself. Run: npm run bench:engine
 *
 * 1. The Azure conversation hour (19,366 requests): seconds, request-steps per second, resident memory.
 * 2. The cost of a request-step after 10,000, 100,000 and 1,000,000 requests: it must not grow with what has finished.
 *    `--short` leaves out the million.
 */
import { performance } from "node:perf_hooks";
import { Random } from "../src/clock/index.ts";
import { ENGINE_DEFAULTS } from "../src/engine/index.ts";
import { type Replay, readTrace, replay, type WorkRequest } from "../src/load/index.ts";

const LIMIT_REQUEST_STEPS_PER_S = 1_000_000;
const LIMIT_HOUR_S = 5;
const LIMIT_MEMORY_BYTES = 300e6;
const ROUNDS = 5;

function timed(
  requests: readonly WorkRequest[],
  scheduling: "static" | "continuous" | "chunked",
): [Replay, number] {
  const startMs = performance.now();
  const done = replay({
    name: scheduling,
    requests,
    workload: "bench",
    arrivals: "bench",
    seed: 42,
    replicas: scheduling === "static" ? 2 : 1,
    config: {
      ...ENGINE_DEFAULTS,
      scheduling,
      memory: scheduling === "static" ? "contiguous" : "paged",
    },
  });
  return [done, (performance.now() - startMs) / 1_000];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Poisson arrivals at 20/s, short answers: many requests, few steps each. */
function synthetic(n: number): WorkRequest[] {
  const random = new Random(42, "bench");
  let atUs = 0;
  return Array.from({ length: n }, () => {
    atUs += Math.round(random.exponential(50_000));
    return { atUs, promptTokens: 1 + random.int(400), outputTokens: 1 + random.int(20), row: 0 };
  });
}

async function main(): Promise<void> {
  const { requests } = await readTrace("data/azure-llm-2023/conversation.csv.gz");
  console.log(`Azure conversation hour, ${requests.length} requests, ${ROUNDS} rounds, medians`);
  for (const scheduling of ["static", "continuous", "chunked"] as const) {
    const runs = Array.from({ length: ROUNDS }, () => timed(requests, scheduling));
    const seconds = median(runs.map(([, s]) => s));
    const rate = median(runs.map(([done, s]) => done.totals.requestSteps / s));
    console.log(
      `  ${scheduling.padEnd(11)} ${seconds.toFixed(2)} s (${(LIMIT_HOUR_S / seconds).toFixed(1)}× faster than the limit of ${LIMIT_HOUR_S} s), ` +
        `${(rate / 1e6).toFixed(1)} M request-steps/s (${(rate / LIMIT_REQUEST_STEPS_PER_S).toFixed(1)}× the limit)`,
    );
  }
  const { rss } = process.memoryUsage();
  console.log(
    `  resident ${(rss / 1e6).toFixed(0)} MB (${((rss / LIMIT_MEMORY_BYTES) * 100).toFixed(0)} % of the limit)`,
  );
  const sizes = process.argv.includes("--short") ? [10_000, 100_000] : [10_000, 100_000, 1_000_000];
  console.log("Cost of a request-step by number of requests");
  let firstNs = Number.NaN;
  for (const n of sizes) {
    const [done, seconds] = timed(synthetic(n), "chunked");
    const ns = (seconds * 1e9) / done.totals.requestSteps;
    if (Number.isNaN(firstNs)) firstNs = ns;
    console.log(
      `  ${String(n).padStart(9)} requests: ${seconds.toFixed(2)} s, ${ns.toFixed(0)} ns a request-step (${(ns / firstNs).toFixed(2)}×), ` +
        `resident ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`,
    );
  }
}

await main();
