/**
 * When moving KV to host memory beats computing it again. Run: npx tsx bench/swap.ts
 *
 * The Azure conversation hour on one engine whose KV memory is too small for it, so that requests are thrown out: by KV
 * memory, by what becomes of those, and by size of the host's memory. Same arrivals in every row.
 */
import { SimClock } from "../src/clock/index.ts";
import { buildServing, ENGINE_DEFAULTS, type EngineConfig } from "../src/engine/index.ts";
import { readTrace, type WorkRequest } from "../src/load/index.ts";

const GIB = 2 ** 30;
/** Of 80 GiB: leaves room for about 19,000 tokens beside the weights. */
const MEMORY_SHARE = 0.26;

interface Row {
  readonly preemptions: number;
  readonly refused: number;
  readonly computedTokens: number;
  readonly busyS: number;
  readonly p50S: number;
  readonly p99S: number;
}

function run(config: EngineConfig, requests: readonly WorkRequest[]): Row {
  const clock = new SimClock();
  const e2eUs: number[] = [];
  const serving = buildServing({
    clock,
    config,
    replicas: 1,
    seed: 1,
    sink: {
      onToken: () => undefined,
      onFinish: ({ arrivedUs }, nowUs) => e2eUs.push(nowUs - arrivedUs),
    },
  });
  for (const { atUs, promptTokens, outputTokens, blockHashes } of requests) {
    const shape = { promptTokens, outputTokens, prefixIds: blockHashes };
    clock.at(atUs, () => {
      serving.submit(0, shape, undefined);
    });
  }
  clock.runSync();
  e2eUs.sort((a, b) => a - b);
  const { totals, scheduler } = serving.engines[0]!;
  const quantileS = (q: number): number => e2eUs[Math.ceil(q * e2eUs.length) - 1]! / 1e6;
  return {
    preemptions: totals.preemptions,
    refused: scheduler.host?.totals.refused ?? 0,
    computedTokens: totals.computedTokens,
    busyS: totals.busyUs / 1e6,
    p50S: quantileS(0.5),
    p99S: quantileS(0.99),
  };
}

async function main(): Promise<void> {
  const { requests } = await readTrace("data/azure-llm-2023/conversation.csv.gz");
  // An A100 carries half of the hour.
  for (const [gpu, part] of [
    ["h100-sxm", 1],
    ["a100-80gb-sxm", 2],
  ] as const) {
    const offered = requests.filter((_, i) => i % part === 0);
    console.log(`${gpu}, ${offered.length} of ${requests.length} requests`);
    for (const memory of ["paged", "prefix"] as const) {
      for (const hostGib of [undefined, 0.25, 4]) {
        const config: EngineConfig = {
          ...ENGINE_DEFAULTS,
          gpu,
          memoryShare: MEMORY_SHARE,
          memory,
          ...(hostGib !== undefined && { preemption: "swap", hostMemoryBytes: hostGib * GIB }),
        };
        const row = run(config, offered);
        const name = hostGib === undefined ? "recompute" : `swap, ${hostGib} GiB`;
        console.log(
          `  ${memory.padEnd(7)} ${name.padEnd(15)} ` +
            `${row.preemptions} thrown out (${row.refused} found no room), ` +
            `${(row.computedTokens / 1e6).toFixed(2)} M tokens computed, busy ${row.busyS.toFixed(0)} s, ` +
            `E2E p50 ${row.p50S.toFixed(1)} s, p99 ${row.p99S.toFixed(1)} s`,
        );
      }
    }
  }
}

await main();
