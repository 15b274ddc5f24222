/**
 * Routers over a fleet of twins, on three workloads, in virtual time. Run: npm run bench:routing [-- --replicas 8 --shared FILE]
 *
 * 1. The Mooncake conversation trace, at its own rate.
 * 2. Agents: conversations that grow turn by turn and send all of it each time, near what the fleet can carry.
 * 3. One hot prefix: four requests in five share it. Prefix affinity alone makes it one replica's business.
 *
 * Then the balanced router's three numbers, each moved alone; and what a pick costs.
 */
import { parseArgs } from "node:util";
import { Random } from "../src/clock/index.ts";
import { formatUs, US_PER_S } from "../src/core/index.ts";
import { checkConfig, ENGINE_DEFAULTS, type EngineConfig } from "../src/engine/index.ts";
import { type Replay, readTrace, replay, type WorkRequest } from "../src/load/index.ts";
import {
  BalancedAffinity,
  type BalancedAffinityOptions,
  ROUTERS,
  type Router,
} from "../src/policy/index.ts";
import { contextFor } from "../src/scenario/ladder.ts";

const { values } = parseArgs({
  options: {
    replicas: { type: "string", default: "8" },
    shared: { type: "string", default: "data/mooncake-fast25/conversation-1000.jsonl.gz" },
  },
});
const replicas = Number(values.replicas);
const BLOCK = 512;

interface Workload {
  readonly title: string;
  readonly requests: readonly WorkRequest[];
}

function request(atUs: number, blockHashes: readonly number[], outputTokens: number): WorkRequest {
  const promptTokens = blockHashes.length * BLOCK;
  return { atUs: Math.round(atUs), promptTokens, outputTokens, blockHashes, row: 0 };
}

/** 600 conversations of 5 to 24 turns, each a few blocks longer than the one before, under one system prompt. */
function agents(): WorkRequest[] {
  const random = new Random(2, "agents");
  const requests: WorkRequest[] = [];
  let name = 1_000;
  let startUs = 0;
  for (let session = 0; session < 600; session += 1) {
    startUs += random.exponential((8 * US_PER_S) / (1.2 * replicas));
    const blocks = [1, 2, 3, 4];
    let atUs = startUs;
    for (let turn = 5 + random.int(20); turn > 0; turn -= 1) {
      for (let fresh = 1 + random.int(6); fresh > 0; fresh -= 1) blocks.push(name++);
      requests.push(request(atUs, [...blocks], 50 + random.int(200)));
      atUs += 3 * US_PER_S + random.exponential(4 * US_PER_S);
    }
  }
  return requests.sort((a, b) => a.atUs - b.atUs);
}

/** Prompts of ten blocks; of four in five, the first eight are the same. */
function hotPrefix(): WorkRequest[] {
  const random = new Random(1, "hot prefix");
  let name = 1_000;
  let atUs = 0;
  return Array.from({ length: 6_000 }, () => {
    atUs += random.exponential((8 * US_PER_S) / (45 * replicas));
    const isHot = random.next() < 0.8;
    const fresh = Array.from({ length: isHot ? 2 : 10 }, () => name++);
    return request(atUs, [...(isHot ? [1, 2, 3, 4, 5, 6, 7, 8] : []), ...fresh], 200);
  });
}

function run({ title, requests }: Workload, router: Router, config: EngineConfig): Replay {
  const origin = { workload: title, arrivals: "as generated or recorded", seed: null };
  return replay({ name: router.name, ...origin, requests, config, replicas, router });
}

function row(name: string, { histograms, prefix, busyUs }: Replay): string {
  const at = (q: number): string =>
    formatUs(histograms.ttftUs.atRank(Math.ceil(q * histograms.ttftUs.n))).padStart(12);
  const mean = busyUs.reduce((sum, us) => sum + us, 0) / busyUs.length;
  const hit = `${((100 * prefix.hitTokens) / prefix.queriedTokens).toFixed(1)} %`.padStart(8);
  const skew = (Math.max(...busyUs) / mean).toFixed(3).padStart(10);
  return `  ${name.padEnd(30)}${at(0.5)}${at(0.9)}${at(0.99)}${hit}${skew}`;
}

const HEAD = `  ${"router".padEnd(30)}${"TTFT p50".padStart(12)}${"p90".padStart(12)}${"p99".padStart(12)}${"hit".padStart(8)}${"max/mean".padStart(10)}`;

function configFor(requests: readonly WorkRequest[]): EngineConfig {
  const contextMax = contextFor(requests);
  return { ...ENGINE_DEFAULTS, contextMax, memory: "prefix", scheduling: "chunked" };
}

function compare(workload: Workload): void {
  const { requests, title } = workload;
  const config = configFor(requests);
  const cacheTokens = checkConfig(config).kvTokens;
  const perS = (requests.length * US_PER_S) / requests.at(-1)!.atUs;
  console.log(`\n${title}: n = ${requests.length}, ${perS.toFixed(1)}/s over ${replicas} replicas`);
  console.log(HEAD);
  for (const [name, make] of Object.entries(ROUTERS)) {
    console.log(row(name, run(workload, make({ cacheTokens }), config)));
  }
  const bare = { cacheTokens, slackTokens: 1e12, savedWorth: 1e6 };
  console.log(row("prefix alone, no bound", run(workload, new BalancedAffinity(bare), config)));
}

/** Each number of the score alone, around its default. */
function sweep(workload: Workload): void {
  const config = configFor(workload.requests);
  const cacheTokens = checkConfig(config).kvTokens;
  console.log(`\nThe numbers of the score, each alone: ${workload.title}`);
  console.log(HEAD);
  const print = (name: string, part: BalancedAffinityOptions): void => {
    const router = new BalancedAffinity({ cacheTokens, ...part });
    console.log(row(name, run(workload, router, config)));
  };
  for (const slackTokens of [32_768, 65_536, 131_072, 262_144, 524_288]) {
    print(`slack ${slackTokens}`, { slackTokens });
  }
  for (const savedWorth of [1, 5, 10, 20]) print(`saved token × ${savedWorth}`, { savedWorth });
  for (const pendingWeight of [0, 1, 3, 8]) print(`pending × ${pendingWeight}`, { pendingWeight });
}

function pickCost(): void {
  console.log("\nOne pick, prompts of 100 blocks of which 50 are known");
  for (const count of [8, 32, 256]) {
    const router = new BalancedAffinity();
    const open = new Array<number>(count).fill(0);
    let name = 1_000;
    const prompts = Array.from({ length: 20_000 }, (_, i) => [
      ...Array.from({ length: 50 }, (_, block) => (i % 64) * 50 + block),
      ...Array.from({ length: 50 }, () => 1e6 + name++),
    ]);
    const begin = performance.now();
    for (const prefixIds of prompts) {
      const picked = router.pick({ prefixIds, tokens: 12_800 }, open);
      open[picked] = (open[picked]! + 12_800) % 100_000;
    }
    const us = ((performance.now() - begin) * 1_000) / prompts.length;
    const { nodes, bytes } = router.index(count);
    console.log(
      `  ${String(count).padStart(3)} replicas: ${us.toFixed(1)} µs; index ${nodes} blocks, ${(bytes / 2 ** 20).toFixed(1)} MiB`,
    );
  }
}

const { requests: shared } = await readTrace(values.shared);
const growing: Workload = { title: "Agents whose conversations grow", requests: agents() };
const hot: Workload = { title: "One prefix in 80 % of the requests", requests: hotPrefix() };
for (const workload of [{ title: "Mooncake conversation", requests: shared }, growing, hot]) {
  compare(workload);
}
for (const workload of [growing, hot]) sweep(workload);
pickCost();
